"""What opinions are about, and the words they are said with, written by hand. Feeds: sentiment.

An evaluation is worth -2 (terrible) to 2 (superb). Each topic names its parts and which special
words suit it, so that a soup is never badly acted; a star marks what takes general words only.
"""

# topic | the whole | parts (p: plural) | groups of special words | what one does there
TOPICS = """
film | film, movie, thriller, comedy, drama, sequel, documentary | plot, acting*, ending, script,
    dialogue, lead_actor*, camera_work*, jokes:p, special_effects*:p, soundtrack*, opening_scene,
    villain*, pacing* | story general | watching
restaurant | restaurant*, bistro*, diner*, pizzeria*, steakhouse*, little_cafe* | soup, service*,
    dessert, waiters*:p, menu*, main_course, coffee*, wine_list*, pasta, portions*:p, starters:p,
    seafood | food general | eating at
hotel | hotel, guesthouse, hostel, inn, resort | breakfast*, room, staff*, bathroom, view*,
    beds*:p, pool*, reception*, lobby, neighborhood | place general | staying at
concert | concert, show, recital, festival*, gig | singer*, orchestra*, sound*, encore, lighting*,
    violin_solo, songs:p, band*, choir*, stage_design*, drummer* | art general | going to
match | match, final, race, tournament, season | first_half, defense*, crowd*, goals*:p, referee*,
    atmosphere*, young_striker*, tactics*:p, last_minutes:p, commentary* | sport general |
    following
book | novel, book, memoir, short_story_collection, biography, mystery | prose, characters*:p,
    first_chapter, plot_twists:p, narrator*, style*, descriptions:p, final_pages:p, heroine*,
    illustrations*:p | story general | reading
game | game, quiz, puzzle, adventure_game | graphics*:p, controls*:p, levels:p, music*, tutorial,
    puzzles:p, menus*:p, story_mode, voices*:p | story general | playing
course | course, lecture, workshop, seminar, training | teacher*, examples:p, exercises:p,
    slides*:p, homework*, discussions:p, textbook, pace*, final_exam* | story general | taking
gadget | phone, laptop, camera, vacuum_cleaner, printer, headset | battery*, screen*, design*,
    buttons*:p, instructions*:p, sound_quality*, keyboard, packaging*, manual*, speakers*:p |
    device general | using
museum | museum, exhibition*, gallery, castle | guide*, paintings*:p, audio_tour*, sculptures*:p,
    gift_shop, rooms:p, layout*, explanations*:p | place general | visiting
"""

# group: value words; those after ";" are the next value
EVALUATIONS = {
    "general": {
        2: """superb wonderful brilliant excellent magnificent outstanding fantastic flawless
    marvelous amazing """
        """terrific sensational first-rate splendid phenomenal stunning masterful glorious
    extraordinary""",
        1: """good nice pleasant decent solid enjoyable likable fine charming agreeable satisfying
    appealing """
        "commendable delightful pleasing respectable",
        0: "average ordinary acceptable unremarkable passable standard middling so-so typical "
        "conventional run-of-the-mill adequate unexceptional",
        -1: """disappointing weak poor unpleasant unsatisfying bland uninspired annoying sloppy
    lackluster """
        "mediocre underwhelming clumsy forgettable second-rate flawed tiresome dreary",
        -2: """terrible awful horrible dreadful atrocious abysmal appalling disastrous miserable
    unbearable """
        """pathetic catastrophic disgraceful insufferable hideous ghastly lousy wretched
    deplorable""",
    },
    "story": {
        2: "gripping unforgettable breathtaking spellbinding riveting mesmerizing",
        1: "entertaining engaging amusing clever exciting thoughtful interesting lively",
        0: " straightforward conventional",
        -1: "boring dull predictable confusing slow tedious shallow long-winded",
        -2: "idiotic mind-numbing excruciating insulting",
    },
    "sport": {
        2: "thrilling gripping electrifying dazzling",
        1: "exciting lively fast-paced tense",
        0: "even uneventful",
        -1: "dull lifeless scrappy one-sided",
        -2: "farcical shambolic",
    },
    "food": {
        2: "heavenly mouthwatering divine exquisite",
        1: "tasty fresh delicious flavorful appetizing well-prepared",
        0: "plain filling simple",
        -1: "tasteless overpriced lukewarm unappetizing soggy greasy",
        -2: "disgusting inedible revolting vile nauseating",
    },
    "place": {
        2: "magical spectacular idyllic",
        1: "cozy inviting comfortable welcoming well-kept spotless",
        0: "basic functional simple",
        -1: "cramped shabby noisy outdated gloomy drab",
        -2: "filthy squalid repulsive",
    },
    "art": {
        2: "enchanting sublime electrifying",
        1: "moving graceful inspired harmonious imaginative",
        0: "traditional conventional",
        -1: "lifeless monotonous amateurish pretentious",
        -2: " unendurable torturous",
    },
    "device": {
        2: "ingenious revolutionary unbeatable",
        1: "handy reliable sturdy practical user-friendly elegant",
        0: "basic functional standard",
        -1: "flimsy unreliable impractical bulky slow",
        -2: "useless worthless infuriating",
    },
}

# Nothing is "very decent".
UNGRADED = """decent solid satisfying passable commendable worthwhile second-rate
    underwhelming""".split()
STRONGER = "really very truly extremely incredibly remarkably exceptionally".split()
WEAKER = "somewhat rather fairly slightly a_bit a_little moderately".split()

# verb (present, third person / past): value, said of a person's view of the whole
FEELINGS = {
    2: "adored loved",
    1: "liked enjoyed appreciated recommended praised",
    0: "tolerated accepted",
    -1: "disliked criticized faulted",
    -2: "hated loathed despised detested",
}
JUDGES = """I, we, my_friends, the_critics, most_visitors, my_sister, our_group, the_audience,
    everyone_I_know,
my_parents, the_reviewers, my_colleagues, the_whole_family, my_neighbor""".split(",")

# idioms by value; {it} is the whole, {part} a part with verb agreement {is}, {has}
IDIOMS = {
    2: """{It} is {one} of the best I have known in years.; I could not have asked for a better
    {noun}.;
        {It} could hardly be better.; I have never enjoyed {doing} a {noun} so much.; {It}
    deserves every prize there is.;
        I would go back to {it} tomorrow, and the day after.; {It} is a triumph from start to
    finish.;
        Nothing about {it} could be improved.; {It} left me speechless with joy.; Words cannot do
    justice to {it}.;
        Drop everything and try {it}.; {It} sets a new standard for others to match.""",
    1: """{It} is well worth the money.; {It} does most things right.; I would happily recommend
    {it} to a friend.;
        {It} turned out better than I had expected.; You could do a lot worse than {it}.; {It} put
    a smile on my face.;
        There is plenty to like about {it}.; {It} grew on me after a while.; I left {it} in a good
    mood.;
        {It} delivers what it promises, and a little more.; {It} has its heart in the right
    place.""",
    0: """{It} is neither good nor bad.; I have no strong feelings about {it}.; {It} does its job
    and nothing more.;
        {It} is what you would expect, no more and no less.; {It} neither surprised nor bored me.;
        Some will like {it}, others will not.; {It} gave me as many reasons to stay as to leave.;
        I have known better and worse than {it}.; For every strength of {it} there is a weakness.;
        {It} left me with mixed feelings.; I could take {it} or leave it.""",
    -1: """{It} is hardly worth the money.; I expected more from {it}.; {It} promises more than it
    delivers.;
        I kept checking my watch during {it}.; {It} never quite comes to life.; There are better
    ways to spend an evening than {it}.;
        {It} wears out its welcome quickly.; I doubt that I will give {it} a second chance.; {It}
    misses more often than it hits.;
        Not even its fans will rave about {it}.; {It} could have used more care.""",
    -2: """{It} is a complete waste of time.; I want my money back for {it}.; {It} gets everything
    wrong.;
        I would not wish {it} on my worst enemy.; Nobody should have to sit through {it}.; Avoid
    {it} at all costs.;
        {It} is one of the worst I have ever known.; I have never regretted {doing} a {noun} so
    much.;
        There is not one good thing to say about {it}.; {It} manages to fail in every possible
    way.;
        Even for free, {it} would cost too much.; {It} ruined our entire weekend.""",
}
