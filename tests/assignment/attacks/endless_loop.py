"""Never returns."""


def double(values):
    while True:
        pass


def total(values):
    return values.sum(axis=0)


def mean(values):
    return values.mean(axis=0)
