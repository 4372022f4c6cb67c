"""Known mistakes of the part "adamw"."""

from assignment.mistakes.mistake import Mistake

ADAMW = "assignment/starter/adamw.py"
FIRST = "        mean = mean / (1 - beta1**step)\n"
SECOND = "        square = square / (1 - beta2**step)\n"
DECAY = '        parameter.mul_(1 - group["lr"] * group["decay"])\n'
ROOT = '(square.sqrt() + group["eps"])'

MISTAKES = (
    Mistake(
        "no-bias-correction",
        ADAMW,
        FIRST + SECOND,
        "",
        "the two means are not corrected for having begun at 0",
    ),
    Mistake(
        "first-mean-uncorrected",
        ADAMW,
        FIRST,
        "",
        "the gradients' mean is not corrected for having begun at 0",
    ),
    Mistake(
        "second-mean-uncorrected",
        ADAMW,
        SECOND,
        "",
        "the squares' mean is not corrected for having begun at 0",
    ),
    Mistake(
        "correction-of-first-step",
        ADAMW,
        FIRST + SECOND,
        "        mean, square = mean / (1 - beta1), square / (1 - beta2)\n",
        "the corrections ignore the number of the step: 1 - beta ** step",
    ),
    Mistake(
        "step-from-zero",
        ADAMW,
        FIRST + SECOND,
        "        step = max(step - 1, 1)\n" + FIRST + SECOND,
        "the corrections are one step behind: the first step is number 1",
    ),
    Mistake(
        "decay-in-gradient",
        ADAMW,
        '        beta1, beta2 = group["betas"]\n',
        '        beta1, beta2 = group["betas"]\n'
        '        gradient = gradient + group["decay"] * parameter\n'
        '        group = {**group, "decay": 0}\n',
        "the decay is added to the gradient, as L2 in Adam; AdamW shrinks the parameter itself",
    ),
    Mistake(
        "no-decay",
        ADAMW,
        DECAY,
        "",
        "there is no weight decay",
    ),
    Mistake(
        "decay-without-rate",
        ADAMW,
        DECAY,
        '        parameter.mul_(1 - group["decay"])\n',
        "the decay is not multiplied by the learning rate",
    ),
    Mistake(
        "no-root",
        ADAMW,
        ROOT,
        '(square + group["eps"])',
        "the step is divided by the mean of squares itself, not by its root",
    ),
    Mistake(
        "eps-inside-root",
        ADAMW,
        ROOT,
        '(square + group["eps"]).sqrt()',
        "epsilon is added under the root; it belongs outside",
    ),
    Mistake(
        "gradient-not-squared",
        ADAMW,
        "* gradient**2",
        "* gradient.abs()",
        "the second mean is of the gradients; it should be of their squares",
    ),
    Mistake(
        "betas-exchanged",
        ADAMW,
        'beta1, beta2 = group["betas"]',
        'beta2, beta1 = group["betas"]',
        "the two betas are exchanged",
    ),
    Mistake(
        "ascent",
        ADAMW,
        "parameter.sub_(",
        "parameter.add_(",
        "the step goes up the gradient instead of down",
    ),
)
