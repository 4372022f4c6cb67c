"""Nouns by class, written by hand. Feeds: lexicon.

A block begins with `@ class | hypernym | adjective groups | flags`; then come nouns, separated by
commas. `a=b` are synonyms, `a<b` overrides the hypernym, `_` stands for a blank. A verb names the
classes it accepts, so the classes are the selectional preferences.
"""

NOUNS = """
@ folk | person | age body mood | human
man, woman, boy, girl, teenager=teen, child=kid, grandmother=grandma, grandfather=grandpa,
neighbor,
stranger, roommate=flatmate, visitor, father=dad, mother=mom, lady, gentleman, landlord, tenant,
volunteer=helper, villager
@ cook | cook | mood skill body | human
chef, baker, caterer, pizza_maker, kitchen_helper, apprentice_cook, pastry_chef, grill_master,
butcher
@ server | restaurant worker | mood skill body | human
waiter, waitress, bartender=barkeeper, barista, dishwasher, sommelier, restaurant_owner
@ footballer | player | mood skill body | human
striker, goalkeeper=goalie, defender, midfielder, winger, captain, substitute, left_back,
rookie=newcomer
@ fighter | athlete | mood skill body | human
boxer, wrestler, fencer, judoka, kickboxer, karate_champion
@ racer | athlete | mood skill body | human
sprinter, marathon_runner, cyclist, swimmer, skier, rower, jogger, hurdler, speed_skater,
skateboarder
@ coach | sports official | mood skill body | human
coach=trainer, referee, team_manager, team_doctor, linesman
@ driver | driver | mood age skill | human
taxi_driver=cab_driver, bus_driver, truck_driver, chauffeur, courier, motorcyclist=biker
@ passerby | person | mood age body | human
pedestrian=walker, commuter, police_officer=policeman, street_sweeper, tourist=sightseer, beggar,
mail_carrier,
traffic_warden, street_vendor=hawker, tour_guide, protester
@ keeper | person | mood age body | human
farmer=grower, shepherd, veterinarian=vet, zookeeper, rider, dog_walker, beekeeper, stable_hand,
milkmaid, fisherman
@ filmmaker | artist | mood skill age | human
director, actor, actress, screenwriter, producer, stuntman, cameraman, film_editor,
costume_designer, narrator
@ viewer | person | mood age | human
critic=reviewer, movie_fan, film_student, usher, juror, cinema_owner
@ clerk | employee | mood skill age | human
accountant=bookkeeper, secretary, engineer, programmer=coder, lawyer=attorney, intern=trainee,
manager, analyst,
receptionist, salesman, director_of_sales, consultant=adviser, auditor, recruiter
@ musician | musician | mood skill age | human
violinist=fiddler, pianist, drummer, guitarist, cellist, trumpeter, flutist, harpist, saxophonist,
bassist, organist
@ singer | artist | mood skill age | human
singer=vocalist, conductor, soprano, tenor, composer, choirboy, music_teacher, songwriter, rapper
@ gardener | person | mood age body | human
gardener, florist, landscaper, groundskeeper, botanist, orchard_owner
@ teacher | teacher | mood age skill | human
teacher, professor, tutor, lecturer, headmaster=principal, substitute_teacher, school_librarian
@ pupil | learner | mood age | human
student, pupil=schoolchild, classmate, graduate, freshman, exchange_student, kindergartner
@ medic | medical worker | mood skill age | human
doctor=physician, nurse, surgeon, paramedic, dentist, pharmacist=druggist, midwife, therapist
@ patient | person | mood age | human
patient, pensioner=retiree, accident_victim, wheelchair_user, asthmatic
@ sailor | sailor | mood skill age | human
sailor=seaman, ship_captain=skipper, diver, lifeguard, dock_worker=docker, lighthouse_keeper,
marine_biologist, surfer,
deckhand
@ seller | seller | mood age body | human
shopkeeper=storekeeper, cashier, salesclerk, jeweler, grocer, fishmonger, bookseller, tailor,
shoemaker=cobbler
@ shopper | customer | mood age body | human
shopper, bargain_hunter, collector, regular_customer, shoplifter=thief
@ builder | worker | mood skill body | human
carpenter=joiner, plumber, electrician, bricklayer=mason, roofer, painter, welder, blacksmith,
mechanic,
crane_operator, architect, locksmith
@ traveler | traveler | mood age | human
passenger, backpacker, pilot, flight_attendant=steward, hotel_guest, businesswoman, porter,
customs_officer, pilgrim
@ hiker | person | mood age body | human
hiker=trekker, climber=mountaineer, forest_ranger, camper, explorer, birdwatcher, hunter,
mountain_guide, naturalist
@ scientist | scientist | mood age skill | human
chemist, physicist, biologist, astronomer, geologist, lab_assistant, researcher, archaeologist
@ journalist | journalist | mood age skill | human
reporter, editor, photographer, news_anchor=newscaster, columnist, blogger, cartoonist
@ politician | politician | mood age skill | human
mayor, senator, minister, ambassador=envoy, candidate=contender, governor, councilor, spokesperson
@ dog | dog | animal color size | animate
puppy, poodle, terrier, sheepdog, beagle, bulldog, greyhound, hound, spaniel, dachshund
@ cat | animal | animal color size | animate
kitten<cat, tomcat<cat, fox, ferret, raccoon, hedgehog, squirrel, rabbit=bunny, badger, weasel
@ bird | bird | animal size | animate
parrot, crow, sparrow, seagull=gull, owl, eagle, swan, duck, pigeon=dove, heron, magpie, stork,
peacock, rooster
@ livestock | farm animal | animal color size | animate
cow, horse, donkey=ass, goat, sheep, pig=hog, mule, pony<horse, foal<horse, calf<cow, lamb<sheep,
piglet<pig, hen, goose
@ wild_animal | wild animal | animal size | animate
bear, wolf, lion, elephant, monkey, deer, zebra, giraffe, tiger, leopard, hyena, moose, buffalo,
gorilla, antelope
@ sea_animal | sea animal | size | animate
dolphin, seal, whale, shark, octopus, penguin, crab, turtle, otter, walrus
@ vegetable | vegetable | fresh size
onion, carrot, tomato, cucumber, leek, zucchini=courgette, eggplant=aubergine, potato, turnip,
beet=beetroot, radish,
cabbage, pumpkin, mushroom, parsnip
@ fruit | fruit | ripe size
apple, pear, peach, mango, banana, pineapple, melon, orange, lemon, plum, kiwi, apricot, papaya,
nectarine
@ bread | baked good | bakery size
loaf, baguette, bagel, pretzel, croissant, bread_roll=bun, muffin, scone, bun
@ cake | dessert | sweet size
birthday_cake<cake, apple_pie<pie, cheesecake<cake, pancake, tart, waffle, pudding, brownie,
doughnut
@ meat | piece of meat | meat size
steak, chicken_leg, pork_chop, meatball, sausage, lamb_chop, ham, turkey, salmon<fish, trout<fish,
burger=hamburger
@ dish | meal | temperature taste
soup=broth, stew, omelet, pizza, lasagna, salad, casserole, risotto, curry, burrito, noodle_dish,
dumpling_soup<soup
@ drink | drink | temperature size
cup_of_tea, espresso<coffee, milkshake, lemonade, cocktail, smoothie, glass_of_water,
cappuccino<coffee,
mug_of_cocoa, bottle_of_wine
@ dishware | kitchen item | clean size
plate, bowl, mug, pot, frying_pan=skillet, glass, tray, teapot, saucepan<pot, jug=pitcher, kettle,
casserole_dish,
wine_glass<glass, cutting_board
@ blade | tool | -
knife, cleaver, bread_knife<knife, slicer, pocket_knife<knife
@ ball | ball | age_thing color
football, volleyball, basketball, rugby_ball, tennis_ball, golf_ball, beach_ball
@ shot | attempt | quality
penalty=spot_kick, free_kick, corner_kick, header, long_shot
@ trophy | prize | quality size
trophy=cup, gold_medal<medal, silver_medal<medal, championship<title, bronze_medal<medal,
league_title<title
@ match | contest | quality hardness
match=game, race, tournament, semifinal<match, derby<match, marathon<race, duel,
friendly_match<match
@ sportswear | piece of clothing | color clean
jersey=shirt, helmet, glove, sneaker=running_shoe, tracksuit, swimsuit, kneepad
@ car | vehicle | age_thing color clean
car=automobile, taxi=cab, truck=lorry, van, bus, limousine<car, minivan<van, jeep, ambulance,
delivery_van<van, tractor
@ bike | vehicle | age_thing color
bicycle=bike, motorbike=motorcycle, scooter=moped, unicycle, mountain_bike<bicycle, tricycle
@ street_thing | object | age_thing size
traffic_light, mailbox, streetlight=street_lamp, billboard, trash_can=garbage_can, parking_meter,
park_bench<bench,
road_sign, fire_hydrant, phone_booth, shop_window
@ pet_thing | thing | age_thing size
stick, bone, frisbee, slipper, rope, ball_of_wool, rubber_toy<toy, blanket, leash
@ fodder | - | -
carrot, bucket_of_oats, bale_of_hay, handful_of_grain, slice_of_bread, handful_of_seeds,
sack_of_corn
@ stable | building | age_thing clean size
barn=stable, henhouse, cage, kennel, pigsty, doghouse, beehive, paddock
@ film | film | quality
film=movie, comedy, thriller, documentary, western, horror_film, cartoon, love_story, war_film,
musical, short_film
@ film_part | part of a film | quality
scene, script=screenplay, trailer=preview, dialogue, ending, car_chase, opening_scene<scene,
love_scene<scene,
fight_scene<scene, monologue
@ stage_thing | piece of equipment | age_thing size
camera, spotlight, microphone, costume, curtain, stage_set, wig, mask, film_reel,
movie_poster<poster
@ document | document | length
report, contract=agreement, letter, memo, invoice=bill, proposal, budget, email=e-mail,
spreadsheet, resume, newsletter,
meeting_agenda, press_release
@ office_thing | office device | age_thing size
printer, laptop=notebook, copier=photocopier, desk_lamp<lamp, whiteboard, filing_cabinet,
projector, keyboard,
office_chair<chair, stapler, scanner
@ project | piece of work | quality hardness length
project=undertaking, meeting, presentation=talk, training_course, interview, campaign, survey,
workshop, negotiation
@ product | product | quality price
phone=cell_phone, website, video_game<game, app, smartwatch, search_engine, electric_car<car,
drone
@ instrument | musical instrument | age_thing price
violin=fiddle, piano, guitar, cello, trumpet, flute, harp, saxophone, clarinet, accordion, banjo,
trombone, drum_kit<drum
@ music | piece of music | quality hardness
song=tune, symphony, ballad<song, lullaby<song, concerto, march, waltz, folk_song<song, aria,
anthem, hymn<song, duet
@ music_thing | piece of equipment | age_thing size
music_stand, loudspeaker=speaker, record_player, amplifier, violin_case, sheet_of_music, metronome
@ flower | flower | color fresh_plant
rose, tulip, sunflower, daisy, lily, orchid, daffodil, geranium, violet, carnation, peony
@ tree | tree | growth
oak, apple_tree, maple, birch, willow, pine, cherry_tree, chestnut_tree, palm_tree, cedar, fir
@ garden_thing | garden tool | age_thing clean
wheelbarrow, rake, watering_can, lawnmower=mower, hose=garden_hose, shovel=spade, flowerpot<pot,
ladder, pitchfork
@ garden_part | part of a garden | size tidy
lawn, hedge, flower_bed, vegetable_patch, rose_bush<bush, pond, gravel_path<path, greenhouse
@ furniture | piece of furniture | age_thing size
chair, table, sofa=couch, bookshelf=bookcase, wardrobe=closet, bed, armchair<chair, dresser,
cradle=crib, stool,
rocking_chair<chair, coffee_table<table, bunk_bed<bed
@ house_part | part of a house | clean size
kitchen_floor<floor, window, staircase, bathroom, front_door<door, living_room<room, garage,
balcony, attic, basement=cellar,
bedroom<room, hallway=corridor
@ household | household item | age_thing clean
carpet=rug, lamp, mirror, pillow=cushion, vase, alarm_clock<clock, towel, bedsheet, picture_frame,
candle, doormat, toaster
@ clothing | garment | color clean price
shirt, dress, coat, sweater=pullover, skirt, scarf, hat, jacket, raincoat<coat, tie=necktie,
apron, blouse, vest, suit,
wedding_dress<dress
@ cleaner_tool | tool | -
broom, mop, sponge, wet_cloth<cloth, vacuum_cleaner, brush
@ book | book | length age_thing
novel, dictionary, textbook=schoolbook, atlas, comic_book, diary=journal, cookbook,
poetry_collection, fairy_tale,
encyclopedia, biography, travel_guide
@ schoolwork | piece of schoolwork | length hardness
essay, exam=test, homework_assignment, lesson, experiment, poem, math_problem<problem, quiz,
term_paper<essay, spelling_test<test
@ school_thing | school supply | age_thing
notebook, pencil, backpack=rucksack, ruler, globe, blackboard=chalkboard, microscope,
world_map<map, pencil_case, calculator
@ body_part | part of the body | side
arm, knee, shoulder, ankle, hand, wrist, finger, elbow, foot, ear
@ medical_thing | medical device | age_thing clean
wheelchair, stretcher, bandage, syringe, x-ray_machine, hospital_bed<bed, stethoscope,
thermometer, crutch
@ medicine | medicine | -
pill=tablet, cough_syrup, painkiller, vaccine, ointment, antibiotic, sleeping_pill<pill
@ boat | boat | age_thing size color
sailboat=sailing_boat, ferry, fishing_boat, canoe, yacht, rowboat, lifeboat, cargo_ship<ship,
cruise_ship<ship, tugboat, kayak
@ sea_thing | object | age_thing size
anchor, fishing_net<net, oar=paddle, life_jacket, buoy, surfboard, crate=wooden_box, sail,
rope_ladder, lobster_trap
@ goods | product | price size
necklace, handbag=purse, watch=wristwatch, umbrella, teddy_bear<toy, bouquet, perfume_bottle,
wallet, ring, suitcase, vase,
gold_bracelet<bracelet, chess_set<game, doll<toy, picnic_basket<basket, sunhat<hat
@ shop_thing | object | age_thing size
shopping_cart, price_tag, display_case, shop_sign<sign, cardboard_box<box, shelf,
cash_register=till, shopping_bag<bag
@ material | piece of building material | weight size
brick, plank=board, tile, steel_beam<beam, pipe, window_frame, wooden_door<door, roof_tile<tile,
concrete_slab
@ building | building | age_thing height
house, church, bridge, tower, warehouse=storehouse, hotel, museum, factory=plant, school, castle,
cottage=cabin, hospital,
skyscraper, library, theater, town_hall, cathedral<church, mill
@ machine | machine | age_thing size
engine=motor, washing_machine, elevator=lift, drill, generator, boiler, crane, heating_system,
air_conditioner, water_pump<pump
@ work_tool | tool | weight
hammer, wrench=spanner, screwdriver, saw, crowbar, chisel, power_drill<drill
@ luggage | piece of luggage | size color
suitcase, travel_bag<bag, backpack, trunk, duffel_bag<bag, parcel=package, guitar_case
@ travel_paper | travel document | age_thing
passport, train_ticket<ticket, boarding_pass, map, visa, plane_ticket<ticket, hotel_voucher
@ transport | means of transport | speed
train, plane=airplane, bus, ferry, helicopter, subway_train<train, tram=streetcar,
hot-air_balloon, express_train<train, coach
@ outdoor_thing | piece of equipment | age_thing size
tent, sleeping_bag, campfire, compass, rope, lantern, canteen=water_bottle, hammock,
walking_stick, map, pair_of_binoculars
@ landscape | natural feature | size
mountain=peak, river, lake, forest, cave=cavern, valley, glacier, waterfall, canyon=gorge, cliff,
meadow, volcano
@ lab_thing | piece of laboratory equipment | age_thing size
test_tube, telescope, microscope, robot, sensor, laser, incubator, weather_balloon, satellite
@ finding | finding | quality
theory=hypothesis, formula, discovery, new_species, cure, data_set, chemical_compound,
distant_planet<planet, fossil
@ article | text | length quality
article, story, headline, interview, column, editorial, photo_essay, obituary,
editorial_cartoon<cartoon
@ law | measure | quality
law=statute, tax_plan<plan, peace_treaty<treaty, speech, reform, budget_plan<plan,
housing_program<program, trade_deal<deal
@ storm | natural disaster | strength
storm=tempest, hurricane, blizzard=snowstorm, thunderstorm<storm, tornado=twister, gale, flood,
hailstorm<storm, heat_wave, sandstorm<storm
@ hit_place | place | size
village, coast=shore, harbor, city_center<center, valley, island, campsite, suburb, beach,
fishing_town<town, ski_resort<resort
"""
