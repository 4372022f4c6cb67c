"""Adjectives, adverbs, times and irregular forms, written by hand. Feeds: lexicon, grammar.

`a=b/c=d` are two opposites with a synonym each. A noun class names the groups of adjectives that
its nouns take, a verb the groups of adverbs.
"""

ADJECTIVES = """
age: young=youthful/old=elderly
body: tall/short, thin=skinny/stocky, bearded/clean-shaven, blond/dark-haired,
    strong=muscular/frail=weak, barefoot/well-dressed
mood: happy=cheerful/sad=unhappy, calm=relaxed/nervous=anxious, tired=weary/wide-awake,
    friendly=kind/unfriendly=grumpy, polite=courteous/rude=impolite, patient/impatient,
    shy=timid/confident=self-assured, angry=furious/good-tempered, lonely/sociable,
    lazy=idle/hard-working=diligent, brave=courageous/cowardly, honest=truthful/dishonest,
    talkative=chatty/silent, modest=humble/arrogant, cautious/reckless,
    stubborn=obstinate/flexible
skill: experienced=seasoned/inexperienced, famous=well-known/unknown, skilled=gifted/clumsy,
    successful/unsuccessful, popular=well-liked/unpopular, ambitious/unambitious,
    well-paid/underpaid, retired/active
animal: wild/tame, hungry=starving/well-fed, fierce=aggressive/gentle=peaceful,
    sleepy=drowsy/lively, injured=wounded/healthy, fat=plump/thin=skinny, clever=smart/stupid,
    curious=inquisitive/shy=timid
size: big=large/small=little, huge=enormous/tiny
color: black/white, brown/gray, red=scarlet/blue, green/yellow, spotted/plain, dark/pale
fresh: fresh/rotten=spoiled, raw=uncooked/cooked, frozen/thawed, muddy/clean
ripe: ripe/unripe, sweet/sour, juicy/dry, fresh/rotten=moldy
bakery: fresh/stale, crispy=crunchy/soft, warm/cold
sweet: homemade/store-bought, fresh/stale, creamy/dry
meat: tender/tough, spicy=hot/mild, frozen/fresh, juicy/dry
temperature: hot/cold=chilled, warm=lukewarm/ice-cold
taste: spicy/mild, salty/bland, homemade/store-bought
clean: clean=spotless/dirty=filthy, wet=damp/dry
age_thing: new=brand-new/old, modern/old-fashioned=outdated, broken/intact, rusty/shiny=gleaming,
    cheap=inexpensive/expensive=costly, battered=worn/pristine
hardness: difficult=hard/easy=simple, interesting/uninteresting
quality: exciting=thrilling/boring=dull, important=significant/unimportant=trivial,
    impressive/unimpressive, strange=odd/ordinary, controversial/uncontroversial
length: short=brief/long=lengthy, detailed/sketchy, handwritten/printed,
    secret=confidential/public
price: cheap=inexpensive/expensive=costly, fashionable=stylish/unfashionable,
    genuine=real/fake=counterfeit, elegant/tasteless
fresh_plant: fresh/withered=wilted, fragrant/scentless
height: tall/low, ancient/modern
growth: healthy/diseased, leafy/bare, young/old, tall/low
tidy: tidy=neat/messy=untidy, sunny/shady, overgrown/well-kept
weight: heavy/light, thick/thin, wooden/metal
speed: fast=speedy/slow, crowded=packed/empty, punctual/delayed=late
strength: sudden=unexpected/long-predicted, northern/southern
side: left/right, swollen/healthy
place: crowded=packed/empty=deserted, quiet=peaceful/noisy, small=little/large=big,
    dark=gloomy/bright, famous=well-known/unknown
"""

ADVERBS = """
careful: carefully=cautiously/carelessly, thoroughly/superficially
quick: quickly=rapidly/slowly, hastily=hurriedly/unhurriedly
slow: slowly/quickly=rapidly
fast: fast/slowly, at_full_speed/at_a_crawl
skill: skillfully=expertly/clumsily=awkwardly, effortlessly=with_ease/with_difficulty
loud: loudly=noisily/quietly=softly
quiet: quietly=silently/loudly=noisily
gentle: gently=softly/roughly
happy: happily=cheerfully/sadly, with_a_smile/with_a_frown
sad: sadly=tearfully/cheerfully
proud: proudly/shyly=bashfully, confidently/hesitantly
polite: politely=courteously/rudely=impolitely
rude: rudely=impolitely/politely=courteously
eager: eagerly=enthusiastically/reluctantly=unwillingly
reluct: reluctantly=unwillingly/gladly=willingly
calm: calmly=composedly/nervously=anxiously
secret: secretly=in_secret/openly
open: openly=publicly/privately=in_private
patient: patiently/impatiently
sudden: suddenly=unexpectedly/as_expected
bad: badly=severely/slightly
hard: hard=with_great_force/lightly
clear: clearly/barely, easily=with_ease/narrowly
attent: attentively=intently/absent-mindedly=inattentively
brave: bravely=courageously/hesitantly
"""

# After the verb some adverbs sound better, before it others are wrong: these only stand at the end.
END_ADVERBS = """fast at_full_speed at_a_crawl hard with_great_force lightly with_ease
    with_difficulty
with_a_smile with_a_frown in_secret in_private as_expected""".split()

# tense: phrases with synonyms, and phrases that cannot be true at the same time
TIMES = {
    "past": """yesterday/last_month, last_night/last_summer, two_days_ago/a_year_ago,
        this_morning=earlier_today/last_week, on_Monday/on_Thursday,
    in_the_spring/in_the_fall=in_autumn,
        before_noon=in_the_late_morning/after_dark=after_nightfall,
    on_Christmas_Eve/on_New_Year's_Day,
        a_moment_ago=just_now/a_month_ago, in_May/in_October,
    early_in_the_morning=at_dawn/at_midnight,
        during_the_lunch_break/after_work""",
    "now": """at_the_moment=right_now/, today/, this_afternoon/, these_days/""",
    "habit": """every_day=daily/once_a_year=yearly,
    every_morning=each_morning/every_evening=each_evening, on_Sundays=every_Sunday/on_weekdays,
        in_summer/in_winter, twice_a_week=two_times_a_week/once_a_month=monthly,
        on_holidays/on_workdays, all_the_time=constantly/from_time_to_time=now_and_then""",
    "future": """tomorrow/next_week, tonight=this_evening/next_month, soon=before_long/,
        on_Friday/on_Tuesday, in_an_hour/in_two_days, at_the_weekend/on_Wednesday""",
}
# verbs whose past or participle is not regular: base past participle
IRREGULAR_VERBS = """
be was been; begin began begun; mimic mimicked mimicked; strike struck struck; beat beat beaten;
    bite bit bitten; blow blew blown; break broke broken; bring brought brought;
build built built; burn burned burned; buy bought bought; catch caught caught; choose chose
    chosen; cut cut cut;
deal dealt dealt; dig dug dug; draw drew drawn; drink drank drunk; drive drove driven; eat ate
    eaten; fall fell fallen;
feed fed fed; fight fought fought; find found found; flee fled fled; forget forgot forgotten; get
    got gotten;
give gave given; go went gone; have had had; hide hid hidden; hit hit hit; hold held held; hurt
    hurt hurt; keep kept kept;
kneel knelt knelt; know knew known; lead led led; leave left left; lend lent lent; light lit lit;
    lose lost lost;
make made made; mean meant meant; meet met met; mislead misled misled; oversleep overslept
    overslept; pay paid paid;
put put put; read read read; rewrite rewrote rewritten; ride rode ridden; run ran run; say said
    said; see saw seen;
sell sold sold; send sent sent; sew sewed sewn; shake shook shaken; shoot shot shot; show showed
    shown; shut shut shut;
sing sang sung; sink sank sunk; sleep slept slept; speak spoke spoken; spit spat spat; stand stood
    stood; steal stole stolen;
stick stuck stuck; sweep swept swept; swim swam swum; take took taken; teach taught taught; tear
    tore torn; tell told told;
throw threw thrown; try tried tried; undo undid undone; wake woke woken; wear wore worn; weep wept
    wept; withdraw withdrew withdrawn;
withhold withheld withheld; win won won; write wrote written; outrun outran outrun; overtake
    overtook overtaken; do did done;
upset upset upset; spread spread spread; swear swore sworn; come came come
"""
# verbs that double their last consonant before -ed and -ing
DOUBLING = """admit chat cut clap dig drop fit get grab hit hug hum knit let pet plan put rob rub
    run shop
sit skip spin spit stop swim tip trap trim trip unwrap whip win wrap zip upset scan chop shut
    outrun permit regret
submit ban mop stir forget step begin cram kidnap pat""".split()

IRREGULAR_PLURALS = """
man men; woman women; child children; foot feet; goose geese; mouse mice; sheep sheep; deer deer;
    fish fish; moose moose;
wolf wolves; calf calves; loaf loaves; knife knives; shelf shelves; scarf scarves; thief thieves;
    salmon salmon; trout trout;
tomato tomatoes; potato potatoes; mango mangoes; buffalo buffalo; species species;
    freshman freshmen; quiz quizzes; hypothesis hypotheses;
    means means; policeman policemen; cameraman cameramen;
stuntman stuntmen; salesman salesmen; fisherman fishermen; linesman linesmen; seaman seamen;
    gentleman gentlemen;
    businesswoman businesswomen;
antelope antelope; octopus octopuses; tornado tornadoes; volcano volcanoes; person people;
    headquarters headquarters;
milkmaid milkmaids; hero heroes; anchorman anchormen; bookshelf bookshelves; embargo embargoes;
    leaf leaves; wife wives;
baby babies; studio studios; midwife midwives; choirboy choirboys; tooth teeth; child_actor
    child_actors; merchandise merchandise;
clothing clothing; furniture furniture; kitchenware kitchenware; equipment equipment; luggage
    luggage; food food; meat meat;
groundskeeper groundskeepers; postman postmen; homework homework; schoolwork schoolwork; craftsman
    craftsmen; hippopotamus hippopotamuses
"""

# counted in words, so that no tokenizer splits digits
NUMBERS = "two three four five six seven eight nine ten".split()

# "an" before these although they begin with a consonant letter, "a" although with a vowel letter
AN_WORDS = "hour honest honor heir x-ray".split()
A_WORDS = """unicycle university used useful usual uniform union user european one once ewe
    unicorn""".split()
