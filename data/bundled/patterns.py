"""The renderings: by which sentence patterns a frame can be said, written by hand. Feeds: grammar.

A line (an indented one continues it) is `name | conditions | pattern`. A pattern holds slots:
{S} the agent, {O} the patient, {R} the receiver ("to the boy"), {M} manner, {W} the instrument,
{P} place, {T} time; {!..} must be filled, others may be empty. A pattern fits a frame if it names
all that the frame holds, so no rendering loses or adds meaning. `{*}` stands for
`{M} {W} {P} {T}`.

Verb slots: {V} finite, {Vm} with the manner inside, {V+} without the negation, {Vs} in headlines;
{aux} {rest} split for questions; {B}, {Bm}, {paux}, {prest} the same of the passive; {inf}, {ing},
{en}. Others: {by} "by the agent", {who}, {that} relative words, {is} of "it", {isS}, {isO}
agreeing.

Conditions: moods (default statement), tenses, `pos` no negation, `neg` only negations, `plain`
without "wants to" and the like, `human`/`person` a human agent, `thing` a patient that is not
animate, `newS`, `newO` an indefinite agent or patient, `oldO` a definite one,
`ly` an adverb that can lead, `event` a verb with a noun, `dative` a verb that takes two objects.
"""

PATTERNS = """
active || {S} {V} {O} {R} {*}
active, time first || {!T}, {S} {V} {O} {R} {M} {W} {P}
active, place first || {!P}, {S} {V} {O} {R} {M} {W} {T}
active, time and place first || {!T} {!P}, {S} {V} {O} {R} {M} {W}
active, manner inside | pos | {S} {Vm} {O} {R} {W} {P} {T}
active, manner inside, time first | pos | {!T}, {S} {Vm} {O} {R} {W} {P}
active, manner inside, place first | pos | {!P}, {S} {Vm} {O} {R} {W} {T}
active, manner first | pos ly | {!M}, {S} {V} {O} {R} {W} {P} {T}
active, time before place || {S} {V} {O} {R} {M} {W} {!T} {!P}
dative | dative | {S} {V} {!receiver} {!O} {*}
dative, time first | dative | {!T}, {S} {V} {!receiver} {!O} {M} {W} {P}
dative, place first | dative | {!P}, {S} {V} {!receiver} {!O} {M} {W} {T}
dative passive | dative passive plain | {!receiver} {Br} {!O} {by} {*}
passive | passive | {!O} {B} {R} {M} {by} {W} {P} {T}
passive, agent last | passive | {!O} {B} {R} {P} {T} {by}
passive, manner inside | passive pos | {!O} {Bm} {R} {by} {W} {P} {T}
passive, time first | passive | {!T}, {!O} {B} {R} {M} {by} {W} {P}
passive, place first | passive | {!P}, {!O} {B} {R} {M} {by} {W} {T}
passive, time and place first | passive | {!T} {!P}, {!O} {B} {R} {M} {by} {W}
agent cleft || it {is} {S} {who} {V} {O} {R} {*}
agent cleft, time first || {!T}, it {is} {S} {who} {V} {O} {R} {M} {W} {P}
patient cleft || it {is} {!O} {that} {S} {V} {R} {*}
patient cleft, passive | passive | it {is} {!O} {that} {B} {R} {M} {by} {W} {P} {T}
place cleft || it {is} {!P} that {S} {V} {O} {R} {M} {W} {T}
place cleft, passive | passive | it {is} {!P} that {!O} {B} {R} {M} {by} {W} {T}
time cleft | past | it {is} {!T} that {S} {V} {O} {R} {M} {W} {P}
time cleft, passive | past passive | it {is} {!T} that {!O} {B} {R} {M} {by} {W} {P}
what cleft | thing | what {S} {V} {R} {*} {isO} {!O}
what cleft, reversed | thing oldO | {!O} {isO} what {S} {V} {R} {*}
what cleft, passive | thing passive | what {Bs} {R} {M} {by} {W} {P} {T} {isO} {!O}
doing cleft | pos plain past | what {S} {did} {P} {T} {is} {inf} {!O} {R} {M} {W}
gerund subject | pos plain agentive | {ing} {!O} {R} {M} {W} {is} what {S} {did} {P} {T}
one-who || {theone} {who} {V} {O} {R} {*} {isS} {S}
one-who, reversed || {S} {isS} {theone} {who} {V} {O} {R} {*}
there-who | newS past now | there {isS} {S} {who} {V} {O} {R} {*}
there-who, place first | newS past now | {!P}, there {isS} {S} {who} {V} {O} {R} {M} {W} {T}
there-doing | newS now pos plain | there {isS} {S} {ing} {O} {R} {*}
there-doing, place first | newS now pos plain | {!P}, there {isS} {S} {ing} {O} {R} {M} {W} {T}
there-passive | newO now pos passive | there {isO} {!O} being {en} {R} {M} {by} {W} {P} {T}
relative clause, place | past now plain person | {S}, {who} {isS} {!P}, {V} {O} {R} {M} {W} {T}
while in a place | past now person | while {!P}, {S} {V} {O} {R} {M} {W} {T}
busy doing | now pos plain human | {S} {isS} busy {ing} {O} {R} {*}
in the middle of doing | now pos plain human | {S} {isS} in the middle of {ing} {O} {R} {*}
emphatic do | past pos plain | {S} did {inf} {O} {R} {*}
the fact | | the fact is that {S} {V} {O} {R} {*}
it is true | pos | it is true that {S} {V} {O} {R} {*}
it is true, passive | passive pos | it is true that {!O} {B} {R} {M} {by} {W} {P} {T}
it is not true | neg | it is not true that {S} {V+} {O} {R} {*}
it is not the case, time first | neg | {!T}, it {is} not the case that {S} {V+} {O} {R} {M} {W}
    {P}
it is wrong to say | neg | it is wrong to say that {S} {V+} {O} {R} {*}
what happened | past pos plain | what happened {P} {T} was that {S} {V} {O} {R} {M} {W}
as for | passive thing oldO | as for {!O}, {pronoun} {B} {R} {M} {by} {W} {P} {T}
using a tool | pos person | using {!tool}, {S} {V} {O} {R} {M} {P} {T}
with a tool first || {!W}, {S} {V} {O} {R} {M} {P} {T}
use a tool to | pos plain person | {S} {use} {!tool} to {inf} {O} {R} {M} {P} {T}
nominal, took place | event plain | the {event} of {!O} by {S} {takes} place {!P} {T}
nominal, time first | event plain | {!T}, the {event} of {!O} by {S} {takes} place {!P}
nominal, work of | event past now pos plain | the {event} of {!O} {P} {T} {is} the work of {S}
nominal, responsible | event past now pos plain human | {S} {isS} responsible for the {event} of
    {!O} {P} {T}
caption | caption pos plain | {S} {ing} {O} {R} {M} {W} {P}
caption, passive | caption pos plain passive | {!O} being {en} {R} {M} {by} {W} {P}
caption, place first | caption pos plain | {!P}: {S} {ing} {O} {R} {M} {W}
caption, picture of | caption pos plain | a picture of {S} {ing} {O} {R} {M} {W} {P}
caption, in this picture | now pos plain | in this picture, {S} {isS} {ing} {O} {R} {M} {W} {P}
headline | headline pos plain | {S0} {Vs} {O0} {R0} {M} {W0} {P0} {T}
headline, passive | headline pos plain passive | {!O0} {en} {R0} {M} {by0} {W0} {P0} {T}
headline, place first | headline pos plain | {!P0}: {S0} {Vs} {O0} {R0} {M} {W0} {T}
headline, what is reported | headline pos plain | {S0} {Vs} {O0} {R0} {M} {W0} {P0} {T}, reports
    say
headline, reported first | headline pos plain | reports: {S0} {Vs} {O0} {R0} {M} {W0} {P0} {T}
yes-no question | polar | {aux} {S} {rest} {O} {R} {*}?
yes-no question, passive | polar passive | {paux} {!O} {prest} {R} {M} {by} {W} {P} {T}?
yes-no question, cleft | polar | {is} it {S} {who} {V} {O} {R} {*}?
yes-no question, true | polar | is it true that {S} {V} {O} {R} {*}?
yes-no question, true, passive | polar passive | is it true that {!O} {B} {R} {M} {by} {W} {P}
    {T}?
yes-no question, know | polar | do you know if {S} {V} {O} {R} {*}?
yes-no question, know, passive | polar passive | do you know whether {!O} {B} {R} {M} {by} {W} {P}
    {T}?
yes-no question, tell | polar | can you tell me whether {S} {V} {O} {R} {*}?
why question | why | why {aux} {S} {rest} {O} {R} {*}?
why question, passive | why passive | why {paux} {!O} {prest} {R} {M} {by} {W} {P} {T}?
why question, cleft | why | why is it that {S} {V} {O} {R} {*}?
why question, reason | why | what is the reason that {S} {V} {O} {R} {*}?
why question, know | why | do you know why {S} {V} {O} {R} {*}?
why question, explain | why passive | can anyone explain why {!O} {B} {R} {M} {by} {W} {P} {T}?
where question | where | where {aux} {S} {rest} {O} {R} {M} {W} {T}?
where question, passive | where passive | where {paux} {!O} {prest} {R} {M} {by} {W} {T}?
where question, place | where | in which place {aux} {S} {rest} {O} {R} {M} {W} {T}?
where question, know | where | do you know where {S} {V} {O} {R} {M} {W} {T}?
where question, tell, passive | where passive | can you tell me where {!O} {B} {R} {M} {by} {W}
    {T}?
when question | when | when {aux} {S} {rest} {O} {R} {M} {W} {P}?
when question, passive | when passive | when {paux} {!O} {prest} {R} {M} {by} {W} {P}?
when question, know | when | do you know when {S} {V} {O} {R} {M} {W} {P}?
when question, time | when | at what time {aux} {S} {rest} {O} {R} {M} {W} {P}?
when question, tell, passive | when passive | can you tell me when {!O} {B} {R} {M} {by} {W} {P}?
who question | who | who {V1} {O} {R} {*}?
who question, passive | who passive plain | by whom {paux} {!O} {prest} {R} {*}?
who question, cleft | who | who {is} it that {V1} {O} {R} {*}?
who question, know | who | do you know who {V1} {O} {R} {*}?
who question, person | who | who {is} the person that {V1} {O} {R} {*}?
who question, name | who | can you name the one who {V1} {O} {R} {*}?
what question | what thing | what {aux} {S} {rest} {R} {*}?
what question, passive | what thing passive | what {Bs} {R} {M} {by} {W} {P} {T}?
what question, cleft | what thing | what is it that {S} {V} {R} {*}?
what question, know | what thing | do you know what {S} {V} {R} {*}?
what question, thing | what thing | which thing {aux} {S} {rest} {R} {*}?
"""

# Two clauses at once: all of these say the same, whatever the order.
JOINTS = """
and | {a}, and {b}
while | {a} while {b}
while first | while {a}, {b}
as | {a} as {b}
as first | as {a}, {b}
meanwhile | {a}; meanwhile, {b}
at the same time | {a}, and at the same time {b}
semicolon | {a}; {b}
"""

# what a person does about an act: verb, whether the act came true
ATTITUDES = {
    "manage": True,
    "remember": True,
    "fail": False,
    "forget": False,
    "refuse": False,
    "try": None,
    "want": None,
    "plan": None,
    "promise": None,
    "hope": None,
}
