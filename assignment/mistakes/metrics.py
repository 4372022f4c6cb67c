"""Known mistakes of the part "metrics"."""

from assignment.mistakes.mistake import Mistake

METRICS = "assignment/starter/metrics.py"
CENTRED = "x, y = predictions - predictions.mean(), labels - labels.mean()"
VALUE = "float((x * y).sum() / size) if size > 0 else None"

MISTAKES = (
    Mistake(
        "errors-counted",
        METRICS,
        "(predictions == labels).mean()",
        "(predictions != labels).mean()",
        "this is the share of errors; accuracy is that of right answers",
    ),
    Mistake(
        "within-one",
        METRICS,
        "(predictions == labels).mean()",
        "(abs(predictions - labels) <= 1).mean()",
        "neighbouring classes are counted as right",
    ),
    Mistake(
        "micro-f1",
        METRICS,
        "return float(np.mean(scores))",
        "return accuracy(predictions, labels)",
        "this is micro F1, which is the accuracy; macro F1 is the mean over the classes",
    ),
    Mistake(
        "weighted-f1",
        METRICS,
        "return float(np.mean(scores))",
        "classes = np.union1d(predictions, labels)\n"
        "    return float(np.average(scores, weights=[(labels == c).sum() for c in classes]))",
        "the classes are weighted by how often they occur; in macro F1 they count alike",
    ),
    Mistake(
        "labels-classes-only",
        METRICS,
        "np.union1d(predictions, labels)",
        "np.unique(labels)",
        "a class that is predicted but never right is left out; its F1 is 0",
    ),
    Mistake(
        "precision",
        METRICS,
        "2 * both / ((predictions == one).sum() + (labels == one).sum())",
        "both / max(1, (predictions == one).sum())",
        "this is precision: true positives among the predicted",
    ),
    Mistake(
        "recall",
        METRICS,
        "2 * both / ((predictions == one).sum() + (labels == one).sum())",
        "both / max(1, (labels == one).sum())",
        "this is recall: true positives among those of the class",
    ),
    Mistake(
        "not-centred",
        METRICS,
        CENTRED,
        "x, y = predictions, labels",
        "the means are not subtracted: this is a cosine",
    ),
    Mistake(
        "covariance",
        METRICS,
        VALUE,
        "float((x * y).mean()) if size > 0 else None",
        "this is the covariance; divide by both standard deviations",
    ),
    Mistake(
        "sample-deviation",
        METRICS,
        "size = np.sqrt((x**2).sum() * (y**2).sum())",
        "size = len(x) * x.std(ddof=1) * y.std(ddof=1)",
        "the covariance divides by n, the deviations by n - 1: use one of the two throughout",
    ),
    Mistake(
        "correlation-squared",
        METRICS,
        VALUE,
        "float((x * y).sum() / size) ** 2 if size > 0 else None",
        "this is r squared",
    ),
    Mistake(
        "zero-for-undefined",
        METRICS,
        VALUE,
        "float((x * y).sum() / size) if size > 0 else 0.0",
        "the correlation with a constant is told as 0; it has no value: None",
    ),
    Mistake(
        "ties-in-order",
        METRICS,
        "return below + (equal + 1) / 2",
        "return 1.0 + np.argsort(np.argsort(values, kind='stable'))",
        "equal numbers get different ranks; they share the mean of theirs",
    ),
    Mistake(
        "ties-lowest",
        METRICS,
        "return below + (equal + 1) / 2",
        "return below + 1.0",
        "equal numbers get the lowest of their ranks; they share the mean of theirs",
    ),
    Mistake(
        "argsort-as-ranks",
        METRICS,
        "return below + (equal + 1) / 2",
        "return 1.0 + np.argsort(values, kind='stable')",
        "argsort says which number comes first, not which rank a number has",
    ),
    Mistake(
        "spearman-without-ranks",
        METRICS,
        "return pearson(ranks(predictions), ranks(labels))",
        "return pearson(predictions, labels)",
        "this is Pearson again: Spearman is Pearson of the ranks",
    ),
)
