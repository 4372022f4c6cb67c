"""Domains, their places, and the verbs said in them, written by hand. Feeds: lexicon.

A block begins with `@ domain | human classes | places`. Then one verb a line:
`verb=synonym<hypernym!antonym | agents | patients | details`. Agents and patients are classes of
nouns, `H` all the humans of the domain and `-` nobody: the verb then takes no object.
Details: `with:` classes of instruments, `to:` classes of receivers, `how:` groups of adverbs,
`at:` the only places, `nom:` a noun for the event, `sym` for verbs that are true both ways,
`state` for verbs that take no -ing form, `nopass` for verbs without a natural passive.
"""

VERBS = """
@ kitchen | cook server folk | in kitchen, at market, in restaurant, in bakery, in cafeteria, at
    food_festival, on terrace, in cooking_school
slice=cut_up<cut | cook folk | vegetable fruit bread meat cake | with:blade
    how:careful,quick,skill
peel | cook folk | vegetable fruit | with:blade how:careful,quick
bake<make | cook folk | bread cake | how:skill,eager nom:baking
burn=scorch | cook folk | bread cake meat dish |
grill=barbecue<cook | cook folk | meat vegetable | how:skill,slow
taste=sample | cook folk server | dish cake drink | with:fork_class how:careful,eager
order | folk | dish drink cake meat | how:polite
serve | server cook | dish drink cake meat | how:polite,quick nom:serving
wash=clean | cook folk server | dishware vegetable fruit | with:cloth_class how:careful,quick
break=smash!mend | cook folk server | dishware | how:sudden
fill!empty | cook server folk | dishware | how:careful,quick
eat=devour<consume | folk | cake bread fruit dish meat | with:fork_class how:quick,eager
cook=prepare<make | cook folk | dish meat vegetable | how:skill,eager nom:preparation
spill | folk server | drink dish | how:sudden
buy=purchase!sell | cook folk | vegetable fruit bread meat | how:quick
chop<cut | cook folk | vegetable | with:blade how:quick,skill
season=spice | cook folk | dish meat | how:careful,skill
dry | server folk | dishware | how:careful,slow
refuse=turn_down!accept | folk | drink dish cake | how:polite
stir | cook folk | dish | with:spoon_class how:slow,patient
yawn | server folk cook | - | how:loud
@ sports | footballer fighter racer coach | in stadium, on playing_field, in gym=sports_hall, on
    training_ground, in locker_room=changing_room, at sports_club, in arena
kick<hit | footballer | ball | how:hard,quick
catch=grab!drop | footballer | ball | how:skill,quick
throw=toss!catch | footballer coach | ball | how:hard,skill at:on playing_field;in gym;in stadium
lose!find | footballer racer | sportswear ball | state
tackle=bring_down | footballer | footballer | how:hard,sudden at:on playing_field;in stadium;on
    training_ground
mark=cover | footballer | footballer | how:patient,skill at:on playing_field;in stadium
beat=defeat | fighter racer | fighter racer | how:clear nom:defeat
knock_down=floor!lift | fighter | fighter | how:sudden,hard at:in arena;in gym;in sports_club
overtake=pass | racer | racer | how:quick,skill at:in stadium;on bridge;on track
challenge=dare | fighter racer | fighter racer | how:polite,open
outrun=outpace | racer footballer | racer footballer | how:clear at:on track;in stadium
win!lose | footballer racer fighter | match trophy | how:clear,proud
train=coach<teach | coach | footballer fighter racer | how:patient,calm nom:training
praise=commend!criticize | coach | footballer fighter racer | how:open
substitute=replace | coach | footballer |
suspend=ban | coach | footballer fighter racer | nom:suspension
take | footballer | shot | how:skill,calm
miss!score | footballer | shot | how:clear
watch | coach footballer | match | how:calm,patient
celebrate | footballer racer fighter | trophy match | how:loud,happy nom:celebration
lift=raise!lower | footballer fighter | trophy | how:proud,happy
wash=clean | coach footballer | sportswear | with:cloth_class
sweat=perspire | footballer fighter racer | - |
shout=yell | coach footballer | - | how:loud,sudden
@ street | driver passerby folk | on main_street, at crossroads=intersection, in
    parking_lot=car_park, at bus_stop, in old_town, on bridge, at gas_station=filling_station, in
    tunnel, on sidewalk=pavement
drive<operate | driver | car | how:careful,fast at:on bridge;in tunnel;on main_street;in
    parking_lot
park | driver | car bike | how:careful,skill at:on main_street;in parking_lot;in old_town;at
    gas_station
repair=fix!damage | driver folk | car bike | with:work_tool how:skill,patient nom:repair
wash=clean | driver folk | car | with:cloth_class how:careful at:in parking_lot;at gas_station
push!pull | folk passerby driver | bike car | how:slow
ride | folk | bike | how:careful,fast
steal | folk | bike car | how:secret,quick
    at:in parking_lot;at gas_station;in old_town;on main_street nom:theft
damage=harm!repair | driver folk | street_thing car bike | how:bad
paint=repaint | passerby folk | street_thing | with:brush_class how:careful
knock_over=tip_over | driver folk | street_thing bike | how:sudden
photograph=take_a_picture_of | passerby folk | street_thing car building | with:camera_class
    how:secret,quick
stop!wave_on | passerby | car driver | how:calm,sudden
ask_for_directions | folk driver | - | how:polite
cross | folk passerby | - | nopass
greet=say_hello_to | driver passerby folk | driver passerby folk | how:polite,happy
bump_into=collide_with | driver passerby | driver passerby | sym how:sudden
rent=hire | folk | car bike | how:quick
sell!buy | driver folk | car bike | how:quick nom:sale
wait | passerby folk | - | how:patient
@ farm | keeper folk | on farm=ranch, in barnyard=farmyard, in field, near river, behind barn, in
    shed, at county_fair
feed | keeper folk | livestock | with:fodder how:careful,patient nom:feeding
milk | keeper | goat_class | how:careful,skill at:on farm;in shed;in barnyard
chase=run_after | dog cat livestock | dog cat livestock bird | how:fast,eager
bite | dog livestock | dog livestock keeper folk | how:sudden
follow=trail | dog livestock keeper folk | dog livestock keeper folk | how:slow,quiet
frighten=scare!calm | dog livestock bird | livestock bird cat | how:sudden
wash=clean | keeper folk | dog livestock | with:cloth_class how:careful,gentle
brush=groom | keeper folk | dog horse_class | with:broom_class how:careful,gentle
lead=guide | keeper folk | horse_class dog | how:slow,calm at:on farm;in field;near river;at
    county_fair
sell!buy | keeper | livestock | how:quick nom:sale
clean!soil | keeper folk | stable | with:broom_class how:slow,careful nom:cleaning
build=construct!tear_down | keeper folk | stable | with:work_tool how:skill,slow at:on farm;near
    river;in field
    nom:construction
bark_at | dog | dog cat livestock bird keeper folk | how:loud,sudden
guard=watch_over | dog | livestock | how:patient
protect=defend!attack | dog keeper | livestock bird dog | how:brave
steal | cat bird dog | fodder | how:quick,secret
carry | dog | pet_thing | how:careful,proud
chew=gnaw | dog | pet_thing | how:slow
sniff=smell | dog cat livestock | fodder pet_thing livestock | how:careful
pull!push | horse_class | wagon_class | how:slow
drop!pick_up | bird dog keeper folk | pet_thing | how:sudden
sleep=doze | dog cat livestock | - | how:calm at:on farm;in barnyard;in shed;behind barn
stroke=pet | keeper folk | dog livestock | how:gentle,slow
examine=inspect | keeper | livestock dog | how:careful,patient nom:examination
@ wildlife | hiker folk | in national_park, in jungle=rainforest, on savanna=grassland, near
    waterhole, in zoo, in wildlife_reserve, in swamp=marsh
chase=pursue | predator_class | predator_class | how:fast at:in national_park;on savanna;in
    wildlife_reserve
attack!protect | predator_class | predator_class | how:sudden nom:attack
watch=observe | wild_animal hiker | wild_animal bird hiker | with:lens_class how:attent,patient
    at:in
    national_park;in wildlife_reserve;in zoo
photograph=film | hiker folk | wild_animal bird sea_animal | with:camera_class how:secret,patient
    at:in zoo;in
    wildlife_reserve;in national_park
feed | hiker folk | bird wild_animal | how:careful at:in zoo
escape_from | predator_class | predator_class | how:quick nopass
track=trail<follow | hiker predator_class | predator_class wild_animal | how:quiet,patient
rescue=save!abandon | hiker | bird wild_animal | how:brave nom:rescue
avoid=stay_away_from!approach | wild_animal | wild_animal hiker | how:careful nopass
imitate=mimic | bird hiker | bird | how:skill
sing | bird | - | how:loud
hide!appear | wild_animal | - | how:quick
drink | wild_animal | - | how:slow,quiet at:near waterhole;in swamp;in zoo
@ film | filmmaker viewer | in studio, on film_set, in movie_theater=cinema, at film_festival, in
    screening_room, at premiere
direct<make | filmmaker | film film_part | how:skill,calm at:in studio;on film_set
watch=see | filmmaker viewer | film film_part | how:attent at:in movie_theater;at film_festival;in
    screening_room
review=evaluate | viewer | film | how:careful nom:review
praise=applaud!criticize | viewer filmmaker | film film_part filmmaker | how:open
criticize=attack!praise | viewer filmmaker | film film_part filmmaker | how:open,hard
rehearse=practice | filmmaker | film_part | how:patient,eager at:in studio;on film_set
    nom:rehearsal
rewrite=revise<change | filmmaker | film_part | how:quick,skill nom:revision
shoot=film!cut | filmmaker | film_part film | with:camera_class how:quick,skill at:in studio;on
    film_set
interview=question | viewer filmmaker | filmmaker viewer | how:polite,patient nom:interview
finance=fund | filmmaker | film | how:secret nom:financing
move=shift | filmmaker | stage_thing | how:careful,quick
repair=fix!break | filmmaker | stage_thing | with:work_tool how:skill,quick
recommend | viewer filmmaker | film | how:eager
applaud=clap_for!boo | viewer filmmaker | filmmaker viewer | how:loud,eager
replace | filmmaker | filmmaker stage_thing film_part | how:quick nom:replacement
finish=complete!begin | filmmaker | film film_part | how:proud nom:completion
laugh!cry | viewer filmmaker | - | how:loud
@ office | clerk politician | in office, in conference_room=meeting_room, at
    headquarters=head_office, in lobby, in bank, at trade_fair, on third_floor
write!delete | clerk | document | with:pen_class how:careful,quick at:in office;at headquarters
read | clerk | document | how:careful,quick nom:reading
sign | clerk politician | document | with:sign_class how:proud,reluct nom:signing
send=mail!receive | clerk | document | how:secret,quick to:clerk
print | clerk | document | how:quick at:in office;at headquarters nom:printing
translate | clerk | document | how:careful,skill nom:translation
approve=accept!reject | clerk politician | document project | how:eager nom:approval
reject=turn_down!approve | clerk politician | document project | how:open nom:rejection
plan=organize | clerk | project | how:careful nom:planning
cancel=call_off!schedule | clerk politician | project | how:sudden nom:cancellation
postpone=put_off!bring_forward | clerk politician | project | how:sudden
repair=fix!break | clerk | office_thing | with:work_tool how:skill,patient nom:repair
use!ignore | clerk | office_thing | how:careful
promote!demote | clerk | clerk | how:sudden nom:promotion
interview=question | clerk | clerk | how:polite,patient nom:interview
hire=employ!fire | clerk | clerk | how:quick,eager
fire=dismiss!hire | clerk | clerk | how:sudden nom:dismissal
replace | clerk | clerk office_thing | how:quick nom:replacement
launch=introduce!withdraw | clerk | product | how:proud nom:launch
test=try_out<examine | clerk | product | how:careful,patient at:in office;at trade_fair;at
    headquarters nom:testing
explain=describe | clerk | project product document | how:patient,calm to:clerk politician
type | clerk | - | how:quick,loud
@ music | musician singer folk | in concert_hall, on stage, in recording_studio, in park, in
    jazz_club, at music_school, in church
play | musician | instrument | how:skill,loud
tune | musician | instrument | how:careful,patient
sing | singer folk | music | how:loud,proud
compose=write | singer musician | music | with:pen_class how:quick,secret nom:composition
record!delete | singer musician | music | how:skill at:in recording_studio;in concert_hall
    nom:recording
perform=present | musician singer | music | how:skill,proud nom:performance
listen_to!ignore | folk singer musician | music | how:attent
rehearse=practice | musician singer | music | how:patient,eager nom:rehearsal
carry!put_down | musician folk | instrument music_thing | how:careful,slow
repair=fix!break | musician | instrument music_thing | with:work_tool how:skill,patient
sell!buy | musician | instrument | how:reluct nom:sale
accompany | musician singer | singer musician | how:skill
applaud=clap_for!boo | folk musician singer | musician singer | how:loud,eager
interrupt=cut_off | folk musician singer | musician singer folk | how:sudden,rude
teach=instruct | singer musician | folk | how:patient
imitate=mimic | singer musician | singer musician | how:skill
polish=shine | musician | instrument | with:cloth_class how:careful
dance!stand_still | folk singer | - | how:happy
hum | folk singer musician | - | how:quiet,happy
@ garden | gardener folk | in garden, in backyard, behind house, in botanical_garden, on balcony,
    near greenhouse, in park
plant!dig_up | gardener folk | flower tree | how:careful,patient nom:planting
water | gardener folk | flower tree garden_part | with:can_class how:careful,patient at:in
    garden;in backyard;in
    park;near greenhouse
pick=pluck | gardener folk | flower | how:gentle,secret
smell=sniff | gardener folk | flower | how:slow
cut_down=fell!plant | gardener | tree | with:saw_class how:quick
climb!climb_down_from | folk | tree | how:quick,brave
trim=prune<cut | gardener folk | tree rose_class | with:shears_class how:careful,skill nom:trimming
carry!put_down | gardener folk | garden_thing | how:slow
borrow!return | gardener folk | garden_thing | how:polite,secret
repair=fix!break | gardener folk | garden_thing | how:skill
clean=tidy_up!mess_up | gardener folk | clean_class | with:rake_class how:quick,careful nom:cleaning
photograph=take_a_picture_of | gardener folk | flower tree garden_part | with:camera_class
    how:careful
paint=draw | folk gardener | flower tree | with:art_class how:skill,slow
sell!buy | gardener | flower | how:quick nom:sale
destroy=ruin!save | folk gardener | garden_part flower | how:sudden nom:destruction
kneel!stand_up | gardener folk | - | how:slow
whistle | gardener folk | - | how:loud,happy
@ home | folk | in living_room, in bedroom, in hallway=corridor, at home, in attic, in
    basement=cellar, upstairs, in garage
clean=tidy_up!mess_up | folk | house_part | with:cleaner_tool how:quick,careful at:at home;in
    vacation_home;in
    old_apartment nom:cleaning
sweep | folk | floor_class | with:broom_class how:quick,careful at:at home;in vacation_home;in
    old_apartment
wipe<clean | folk | furniture household | with:cloth_class how:quick,careful
move=shift | folk | furniture | how:careful,slow
paint | folk | furniture | with:brush_class how:careful,skill nom:painting
buy=purchase!sell | folk | furniture household clothing | how:quick,secret nom:purchase
iron=press | folk | clothing | how:careful,quick
wash=clean!soil | folk | clothing household | how:careful
fold!unfold | folk | clothing household | how:careful,quick
wear!take_off | folk | clothing | how:proud
sew=stitch<make | folk | clothing | how:skill,patient
hide!show | folk | household clothing | how:secret,quick
break=smash!mend | folk | household | how:sudden
repair=fix!break | folk | furniture household | with:work_tool how:skill,patient nom:repair
decorate | folk | house_part | how:happy,quick at:at home;in vacation_home;in old_apartment
    nom:decoration
lock!unlock | folk | door_class | with:key_class how:careful,quiet at:at home;in vacation_home;in
    old_apartment
open!close | folk | door_class | with:key_class how:slow,quiet at:at home;in vacation_home;in
    old_apartment
wake_up=awaken | folk | folk | how:gentle,sudden
hug=embrace | folk | folk | sym how:gentle,happy
light!blow_out | folk | candle_class | with:match_class how:careful,slow
sleep=doze | folk | - | how:calm at:in living_room;in bedroom;at home;upstairs
cry=weep!laugh | folk | - | how:loud,quiet
relax=rest!work | folk | - | how:calm
@ school | teacher pupil | in classroom, at university, in library, in school_yard=schoolyard, in
    laboratory, in auditorium=lecture_hall, in gym
teach=instruct | teacher | pupil | how:patient,calm nom:teaching
praise=commend!scold | teacher pupil | pupil teacher | how:open
scold=tell_off!praise | teacher | pupil | how:loud,calm
write | pupil | schoolwork_class | with:pen_class how:careful,quick
grade=mark | teacher | schoolwork | how:careful,quick nom:grading
finish=complete!start | pupil | schoolwork | how:quick,proud nom:completion
forget!remember | pupil teacher | school_thing schoolwork | state
read | pupil teacher | book | how:attent,careful
borrow!return | pupil teacher | book school_thing | how:polite,quick
translate | pupil teacher | book | with:dictionary_class how:careful,skill nom:translation
recommend | teacher | book | how:eager to:pupil
discuss=talk_about | teacher pupil | book schoolwork | how:eager,calm nom:discussion
ask_about | pupil teacher | schoolwork book | how:polite
explain=clarify | teacher | schoolwork | how:patient to:pupil
copy | pupil | schoolwork | how:secret,quick
draw=sketch | pupil | school_thing tree | with:pen_class how:skill,quick
help=assist!hinder | teacher pupil | pupil teacher | how:patient,eager
interrupt=cut_off | pupil teacher | teacher pupil | how:sudden,rude
study!play | pupil | - | how:eager,quiet
raise_a_hand | pupil | - | how:eager,slow
@ hospital | medic patient folk | in hospital, at clinic, in emergency_room, in waiting_room, in
    ambulance, at nursing_home=retirement_home, in pharmacy=drugstore
treat!neglect | medic | patient folk | how:careful,patient nom:treatment
examine=inspect | medic | patient body_part | with:lamp_class how:careful,gentle nom:examination
operate_on | medic | patient folk | how:skill,calm
visit=call_on | folk patient | patient folk | how:secret
calm=soothe!upset | medic folk | patient | how:gentle,patient
injure=hurt!heal | folk patient | body_part | how:bad
bandage | medic | body_part | how:careful,gentle
prescribe | medic | medicine | how:reluct,careful to:patient
swallow!spit_out | patient folk | pill_class | how:reluct,quick
take!refuse | patient folk | medicine | how:reluct
clean=disinfect | medic | medical_thing | with:cloth_class how:careful nom:cleaning
push!pull | medic folk | wheel_class | how:slow,careful
thank | patient folk | medic | how:polite
call=phone | patient medic folk | patient medic folk | how:calm
lift=raise!lower | medic | patient | how:careful,gentle
cough | patient folk | - | how:loud
recover=get_well | patient | - | how:slow,quick
faint=pass_out | patient folk | - | how:sudden
@ sea | sailor folk | at harbor=port, on beach, on pier=jetty, on open_sea, near lighthouse, in
    bay, on island
sail=steer | sailor | boat | how:skill,calm at:on open_sea;near lighthouse;in bay
repair=fix!damage | sailor | boat sea_thing | with:work_tool how:skill,slow nom:repair
paint | sailor folk | boat | with:brush_class how:careful at:at harbor;on beach;on island
rescue=save!abandon | sailor | sailor folk | how:brave,quick nom:rescue
load!unload | sailor | boat | how:quick at:at harbor;on pier nom:loading
rent!buy | folk | boat | how:quick
drop!pick_up | sailor | sea_thing | how:sudden
carry!put_down | sailor folk | sea_thing | how:slow,careful
watch=observe | sailor folk sea_animal | sea_animal | with:lens_class how:attent
feed | sailor folk | sea_animal | how:careful
chase=pursue | sea_hunter_class | sea_hunter_class | how:fast at:on open_sea;in bay;near lighthouse
warn=alert | sailor | sailor folk | how:loud,calm
sink!raise | sailor storm_class | boat | how:sudden at:on open_sea;in bay;near lighthouse
    nom:sinking
dive | sailor sea_animal | - | how:quick
swim=bathe | folk sailor sea_animal | - | how:slow,quick at:in bay;on island;near lighthouse
@ shop | seller shopper folk | in shop=store, at market, in shopping_mall, at flea_market, in
    department_store, in supermarket, in bookstore=bookshop
sell!buy | seller | goods clothing household | how:polite to:shopper folk nom:sale
buy=purchase!sell | shopper folk | goods clothing household furniture | how:quick,eager
    nom:purchase
wrap!unwrap | seller folk | goods | how:careful,quick
try_on!take_off | shopper folk | clothing | how:slow
return!keep | shopper folk | goods clothing | how:polite,reluct nom:return
steal!return | shopper folk | goods | how:secret,quick nom:theft
show!hide | seller | goods clothing | how:proud,polite to:shopper folk
repair=mend!damage | seller | goods clothing | with:needle_class how:skill,patient nom:repair
lose!find | shopper folk | goods | state
choose=pick_out!reject | shopper folk | goods clothing | how:careful,quick
push!pull | seller folk | shop_thing | how:slow
give=hand!take_away | seller folk shopper | goods | how:happy,secret to:seller folk shopper
advise=counsel!mislead | seller shopper | shopper seller | how:patient,polite
overcharge=cheat | seller | shopper folk | how:open
recognize=identify | seller shopper | shopper seller | how:sudden state
bargain=haggle | shopper seller | - | how:loud,patient
stand_in_line=queue | shopper folk | - | how:patient
@ workshop | builder folk | in workshop, at construction_site=building_site, on roof, in
    basement=cellar, in factory=plant, in garage, on scaffold
build=construct!tear_down | builder | building | how:quick,slow at:in old_town;near river;on
    hill;outside town nom:construction
renovate=restore!demolish | builder | building | how:slow,careful at:in old_town;near river;on
    hill;outside town nom:renovation
repair=fix!damage | builder | machine | with:work_tool how:skill,patient nom:repair
install!remove | builder | machine | how:quick,skill nom:installation
turn_on=switch_on!turn_off | builder folk | machine | how:careful
carry!put_down | builder folk | material | how:slow,careful
cut<divide | builder | material | with:saw_class how:careful,skill
measure | builder | material building | with:measure_class how:careful nom:measurement
paint | builder folk | material | with:brush_class how:quick,careful
drop!pick_up | builder folk | work_tool material | how:sudden
borrow!return | builder folk | work_tool | how:polite,secret
lend!borrow | builder | work_tool | to:builder folk how:happy
design=draw_up | builder | building machine | how:careful nom:design
inspect=check | builder | machine building | how:careful,quick nom:inspection
break=damage!repair | builder folk | machine work_tool | with:work_tool how:sudden
help=assist!hinder | builder folk | builder folk | how:patient,eager
pay | folk builder | builder | how:quick,reluct
climb_a_ladder | builder folk | - | how:slow,brave
@ travel | traveler folk driver | at airport, at train_station=railway_station, in hotel, on
    platform, at border, in capital=capital_city, in departure_lounge
pack!unpack | traveler folk | luggage | how:quick,careful
carry!put_down | traveler folk | luggage | how:slow
lose!find | traveler folk | luggage travel_paper | state
check=inspect | traveler | travel_paper luggage | how:careful,quick nom:inspection
board!leave | traveler folk | transport | how:quick,slow nom:boarding
miss!catch | traveler folk | transport | state
delay=hold_up | weather_class | transport |
show!hide | traveler folk | travel_paper | how:reluct,quick to:officer_class
photograph=take_a_picture_of | traveler folk | building landscape | with:camera_class how:quick
visit!leave | traveler folk | building | how:eager at:in capital;near border;on island
help=assist | traveler folk | traveler folk | how:polite,eager
meet=encounter | traveler folk driver | traveler folk driver | sym how:secret
accompany=go_with | traveler folk | folk traveler | how:happy
oversleep | traveler folk driver | - |
say_goodbye | traveler folk | - | how:sad,happy
@ outdoors | hiker folk | in mountains, in forest=woods, on trail=path, at campsite, near
    waterfall, in valley, on summit=peak
climb=scale!descend | hiker | peak_class tree | how:slow,brave at:in mountains;on island;in
    national_park
cross | hiker folk | water_class | how:careful,quick nom:crossing
explore=discover | hiker | landscape | how:careful,brave nom:exploration
carry!put_down | hiker folk | outdoor_thing | how:slow
forget!remember | hiker folk | outdoor_thing | state
borrow!return | hiker folk | outdoor_thing | how:polite
photograph=take_a_picture_of | hiker folk | landscape tree bird | with:camera_class how:patient
paint=draw | hiker folk | landscape | with:art_class how:skill,slow
lead=guide!follow | hiker | folk hiker | how:calm,careful
follow!lead | hiker folk | hiker folk | how:slow,quiet
rescue=save!abandon | hiker | hiker folk | how:brave,quick nom:rescue
lose!find | hiker folk | outdoor_thing | state
rest=take_a_break | hiker folk | - | how:calm
get_lost | hiker folk | - |
@ science | scientist clerk | in laboratory, at institute=research_center, at observatory, in
    lecture_hall=auditorium, at conference, in museum
test=try_out!skip | scientist | finding_class lab_thing | how:careful,patient nom:test
discover=find | scientist | species_class | how:sudden nom:discovery
describe=present | scientist | finding | how:careful,proud to:scientist
prove!disprove | scientist | theory_class | how:skill,sudden
build=construct!take_apart | scientist | lab_thing | how:skill,quick nom:construction
repair=fix!break | scientist | lab_thing | with:work_tool how:skill,patient nom:repair
clean | scientist | tube_class | with:cloth_class how:careful
publish!withhold | scientist | article finding_class | how:proud nom:publication
criticize!praise | scientist | scientist article finding_class | how:open,polite
contradict!support | scientist | scientist | how:open,polite
quote=cite | scientist | scientist article | how:careful
admire=look_up_to!despise | scientist | scientist | state
advise=counsel!mislead | scientist | scientist clerk | how:patient
doubt!believe | scientist | theory_class | state
calculate | scientist | - | how:quick
@ news | journalist politician folk | in capital, at press_conference, in newsroom, in parliament,
    outside town_hall, at summit_meeting, on television=TV
interview=question | journalist | politician folk journalist | how:polite,patient nom:interview
criticize=attack!praise | journalist politician | politician journalist law | how:open,hard
support=back!oppose | politician folk | law politician | how:open,eager
oppose=fight!support | politician folk | law politician | how:open
reject=vote_down!approve | politician | law | how:open,clear nom:rejection
announce=disclose!conceal | politician | law | how:proud,sudden nom:announcement
sign | politician | law_class | with:sign_class how:proud,reluct nom:signing
write | journalist | article | how:quick,careful
publish=print!suppress | journalist | article | how:proud nom:publication
read | folk politician journalist | article | how:careful,quick
photograph=take_a_picture_of | journalist | politician folk | with:camera_class how:secret,quick
accuse=blame!defend | politician journalist | politician journalist | how:open
defend=stand_up_for!accuse | politician journalist | politician journalist | how:open,brave
defeat=beat | politician | politician | how:clear nom:defeat
meet=get_together_with | politician journalist | politician journalist | sym how:secret
phone=call | politician journalist | politician journalist folk | how:secret
thank | politician folk | folk politician | how:polite
resign=step_down | politician | - | how:sudden
vote!abstain | politician folk | - | how:secret
@ weather | folk | in north, on coast, in mountains, in south, along border, in eastern_provinces
hit=strike!spare | storm | hit_place building boat | how:hard,sudden
damage=harm!spare | storm | building hit_place tree street_thing | how:bad
destroy=wreck<damage!spare | storm | building stable boat | how:sudden nom:destruction
flatten<damage | storm | tree stable tent_class |
cut_off=isolate | storm | hit_place | how:sudden
frighten=scare!calm | storm | folk livestock dog | how:bad
predict=forecast | expert_class | storm | how:careful nom:prediction
survive | folk | storm | state
flee_from=run_from | folk livestock | storm | nopass
surprise=startle | storm | folk hiker sailor |
photograph=film | folk | storm | with:camera_class
delay=hold_up | storm | transport |
"""

SOCIAL = """
help=assist!hinder | H | H | how:eager,patient
thank | H | H | how:polite
praise=commend!criticize | H | H | how:open
criticize=find_fault_with!praise | H | H | how:open,polite
call=phone | H | H |
greet=say_hello_to!ignore | H | H | how:polite,happy
interrupt=cut_off | H | H | how:sudden,rude
invite!turn_away | H | H | how:polite
warn=alert | H | H | how:calm
blame=accuse!excuse | H | H | how:open
ignore=pay_no_attention_to!notice | H | H | how:rude
push=shove!pull | H | H | how:rude,gentle
visit=call_on | H | H |
photograph=take_a_picture_of | H | H |
surprise=astonish!bore | H | H |
insult=offend!flatter | H | H | how:open
encourage=cheer_up!discourage | H | H | how:gentle
trust=rely_on!distrust | H | H | state
admire=look_up_to!despise | H | H | state how:secret
recognize=identify | H | H | state how:sudden
pay | H | H | how:quick,reluct
deceive=fool | H | H | how:open
annoy=irritate!please | H | H |
convince=persuade | H | H | how:patient
meet=encounter | H | H | sym
hug=embrace | H | H | sym how:gentle,happy
argue_with=quarrel_with!agree_with | H | H | sym how:loud nopass
talk_to=chat_with | H | H | sym how:quiet,happy nopass
shake_hands_with | H | H | sym how:polite nopass
wait_for | H | H | how:patient nopass
look_for=search_for | H | H | how:eager,patient
point_at | H | H | how:rude,sudden
wave_to | H | H | how:happy nopass
listen_to!ignore | H | H | how:polite,attent
smile!frown | H | - | how:proud
laugh!cry | H | - | how:loud
wait | H | - | how:patient,quiet
arrive!leave | H | - | how:sudden,quick
complain=grumble | H | - | how:loud,polite
stumble=trip | H | - | how:sudden
sneeze | H | - | how:loud
"""

SUBSETS = """
art_class: paintbrush<brush, pencil, piece_of_chalk<chalk
sign_class: fountain_pen<pen, ballpoint_pen<pen
clean_class: pond, gravel_path, greenhouse, flower_bed
sea_hunter_class: dolphin, seal, whale, shark, walrus
spoon_class: wooden_spoon<spoon, ladle<spoon, whisk<kitchen_item
fork_class: fork<tool, spoon<tool
brush_class: paintbrush<brush, roller<tool, wide_brush<brush
camera_class: camera, drone, old_camera<camera, phone
lens_class: pair_of_binoculars, telescope, magnifying_glass<lens
pen_class: pen=ballpoint_pen<writing_tool, pencil, fountain_pen<pen
saw_class: saw, chainsaw<saw, ax=hatchet<tool
shears_class: pair_of_shears<tool, pair_of_scissors<tool, hedge_trimmer<machine
rake_class: rake, shovel, leaf_blower<machine
can_class: watering_can, hose, bucket=pail<container
key_class: spare_key<key, rusty_key<key, skeleton_key<key
match_class: lighter<device, long_match<stick
dictionary_class: dictionary, translation_program<program
lamp_class: small_flashlight<flashlight, magnifying_glass<lens
needle_class: needle<tool, piece_of_tape<tape, tube_of_glue<glue
measure_class: tape_measure<tool, yardstick<tool, ruler
predator_class: bear, wolf, lion, tiger, leopard, hyena, gorilla, buffalo, elephant
goat_class: goat, cow, sheep
horse_class: horse, donkey, mule, pony
wagon_class: wagon<vehicle, cart<vehicle, carriage<vehicle, plow<farm_machine, sleigh<vehicle
rose_class: rose_bush, hedge
floor_class: kitchen_floor, staircase, balcony, hallway, garage
broom_class: broom, brush
cloth_class: wet_cloth, sponge
door_class: front_door, window, garage, basement
candle_class: candle, lamp
schoolwork_class: essay, poem, term_paper, homework_assignment, exam
pill_class: pill, vaccine_tablet<medicine, sleeping_pill, painkiller, cough_syrup
wheel_class: wheelchair, stretcher, hospital_bed
storm_class: storm, hurricane, gale
weather_class: storm, blizzard, thunderstorm, flood, hailstorm, sandstorm
officer_class: customs_officer, pilot, flight_attendant, hotel_guest
peak_class: mountain, cliff, volcano
water_class: river, glacier, valley, canyon, meadow, lake
finding_class: theory, formula, cure, discovery, data_set
species_class: new_species, distant_planet, fossil, chemical_compound, cure
theory_class: theory, formula
tube_class: test_tube, microscope, telescope, incubator, sensor
law_class: law, peace_treaty, reform, trade_deal, housing_program
tent_class: tent, lantern, hammock, fence<barrier
expert_class: weather_forecaster<expert, meteorologist<expert, weather_service<agency
"""
