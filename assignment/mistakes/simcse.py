"""Known mistakes of the part "simcse"."""

from assignment.mistakes.mistake import Mistake

LOSS, LOOP = "simcse/loss.py", "assignment/starter/contrastive.py"
COSINE = "F.normalize(left, dim=-1) @ F.normalize(right, dim=-1).T"
LOGITS = "logits = cosine_matrix(anchors, positives) / temperature"
ANSWER = "F.cross_entropy(logits, torch.arange(len(anchors), device=anchors.device))"
OWN = (
    "        own = torch.eye(len(anchors), dtype=logits.dtype, device=logits.device)\n"
    "        logits = torch.cat([logits, against + hard_negative_logit * own], dim=1)  # (B, 2B)\n"
)
ITSELF = 'logits = logits.masked_fill(itself, float("-inf"))'
PARTNERS = "torch.arange(len(views), device=views.device).roll(len(anchors))"
TWICE = "return [model(batch), model(batch)]"
HARD = "hard_negatives = views[2] if len(views) > 2 else None"

MISTAKES = (
    Mistake(
        "not-normalised",
        LOSS,
        COSINE,
        "left @ right.T",
        "these are dot products: a cosine divides by both vectors' lengths",
    ),
    Mistake(
        "normalised-over-batch",
        LOSS,
        COSINE,
        "F.normalize(left, dim=0) @ F.normalize(right, dim=0).T",
        "columns are scaled to unit length; rows should be",
    ),
    Mistake(
        "one-side-normalised",
        LOSS,
        COSINE,
        "F.normalize(left, dim=-1) @ right.T",
        "only one of the two vectors is scaled to unit length",
    ),
    Mistake(
        "temperature-multiplied",
        LOSS,
        LOGITS,
        "logits = cosine_matrix(anchors, positives) * temperature",
        "the cosines are multiplied by the temperature instead of divided",
    ),
    Mistake(
        "no-temperature",
        LOSS,
        LOGITS,
        "logits = cosine_matrix(anchors, positives)",
        "the cosines are not divided by the temperature",
    ),
    Mistake(
        "label-not-diagonal",
        LOSS,
        ANSWER,
        "F.cross_entropy(logits, torch.zeros(len(anchors), dtype=torch.int64))",
        "every row's answer is candidate 0; the positive of row i is on the diagonal, candidate i",
    ),
    Mistake(
        "loss-summed",
        LOSS,
        ANSWER,
        'F.cross_entropy(logits, torch.arange(len(anchors)), reduction="sum")',
        "the loss is summed over the batch; it should be the mean",
    ),
    Mistake(
        "columns-for-rows",
        LOSS,
        LOGITS,
        "logits = cosine_matrix(positives, anchors) / temperature",
        "rows are positives and columns anchors; each anchor should look for its positive",
    ),
    Mistake(
        "no-hard-negatives",
        LOSS,
        "    if hard_negatives is not None:\n        # The hard negatives of all",
        "    if False:\n        # The hard negatives of all",
        "the hard negatives are missing from the denominator",
    ),
    Mistake(
        "own-hard-negative-only",
        LOSS,
        OWN,
        "        own = against.diagonal()[:, None] + hard_negative_logit\n"
        "        logits = torch.cat([logits, own], dim=1)\n",
        "each anchor sees its own hard negative only; those of the whole batch are candidates",
    ),
    Mistake(
        "weight-on-all",
        LOSS,
        OWN,
        "        logits = torch.cat([logits, against + hard_negative_logit], dim=1)\n",
        "hard_negative_logit is added to all hard negatives; it belongs to an anchor's own",
    ),
    Mistake(
        "weight-ignored",
        LOSS,
        OWN,
        "        logits = torch.cat([logits, against], dim=1)\n",
        "hard_negative_logit is not used",
    ),
    Mistake(
        "positives-detached",
        LOSS,
        LOGITS,
        "logits = cosine_matrix(anchors, positives.detach()) / temperature",
        "no gradient flows into the positives",
    ),
    Mistake(
        "itself-not-masked",
        LOSS,
        ITSELF,
        "pass",
        "a view is among its own candidates: its similarity to itself is not masked",
    ),
    Mistake(
        "itself-zero",
        LOSS,
        ITSELF,
        "logits = logits.masked_fill(itself, 0.0)",
        "the masked similarity is 0, and exp(0) = 1 still counts: fill with -inf",
    ),
    Mistake(
        "one-direction",
        LOSS,
        "return F.cross_entropy(logits, partners)",
        "return F.cross_entropy(logits[: len(anchors)], partners[: len(anchors)])",
        "only the anchors look for their partners; in the symmetric loss all 2B views do",
    ),
    Mistake(
        "next-row-as-partner",
        LOSS,
        PARTNERS,
        "torch.arange(len(views), device=views.device).roll(1)",
        "a view's partner is B rows away, not in the next row",
    ),
    Mistake(
        "hard-negatives-not-counted",
        LOSS,
        "torch.cat(tuple(views[1:]))",
        "views[1]",
        "the accuracy leaves hard negatives out of the candidates",
    ),
    Mistake(
        "same-dropout-twice",
        LOOP,
        TWICE,
        "return [model(batch)] * 2",
        "both views are one forward pass, under the same dropout mask: they are identical",
    ),
    Mistake(
        "views-without-dropout",
        LOOP,
        "    model.train()\n    " + TWICE,
        "    " + TWICE,
        "the model is left in evaluation mode, so the two views are identical",
    ),
    Mistake(
        "triplets-without-dropout",
        LOOP,
        "    model.train()\n    return [model(batch) for batch in batches]",
        "    return [model(batch) for batch in batches]",
        "the model is left in evaluation mode: supervised SimCSE trains with dropout, too",
    ),
    Mistake(
        "gradients-add-up",
        LOOP,
        "    optimizer.zero_grad()\n",
        "",
        "gradients of earlier steps are not cleared",
    ),
    Mistake(
        "nothing-learnt",
        LOOP,
        "    optimizer.zero_grad()\n    loss.backward()\n",
        "    loss.backward()\n    optimizer.zero_grad()\n",
        "the weights stay as they are: there is no step, or gradients are cleared right before it",
    ),
    Mistake(
        "third-view-unused",
        LOOP,
        HARD,
        "hard_negatives = None",
        "the hard negatives are not given to the loss",
    ),
    Mistake(
        "default-temperature",
        LOOP,
        "hard_negatives, temperature)",
        "hard_negatives)",
        "the temperature is not given to the loss",
    ),
    Mistake(
        "dropout-left-on",
        LOOP,
        "    model.eval()\n",
        "",
        "dropout is left on: switch the model to evaluation mode before embedding",
    ),
    Mistake(
        "graph-kept",
        LOOP,
        "with torch.no_grad():",
        "with torch.enable_grad():",
        "the embeddings keep their graph, and with it all activations: use torch.no_grad",
    ),
)
