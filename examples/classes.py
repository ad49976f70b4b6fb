"""Clusters: pupils of the same class are not independent

Pupils of a class share a teacher, so their results are alike. Whatever was given to whole classes then seems to work,
or to harm, in far too many tables: 25 pupils with one teacher are not 25 independent observations. `groups=` says
which rows belong together.

40 classes of 25 pupils are simulated. A new book goes to half of the classes, at random, and does nothing. Tutoring
goes to half of the pupils of each class, at random, and raises the chance to pass by 15 points.
"""

import numpy as np

import causalrules as cr

rng = np.random.default_rng(0)
n_classes, size = 40, 25
school_class = np.repeat(np.arange(n_classes), size)
teacher = rng.normal(0, 0.25, n_classes)[school_class]
book = rng.permutation(np.arange(n_classes) % 2)[school_class]
tutoring = rng.random(n_classes * size) < 0.5
passed = rng.random(n_classes * size) < 0.5 + teacher + 0.15 * tutoring
pupils = {
    "class": [f"class {number}" for number in school_class],
    "book": np.where(book, "new", "old"),
    "tutoring": np.where(tutoring, "yes", "no"),
    "passed": passed.astype(int),
}
named = ["book = new", "tutoring = yes"]

# %%
# ## As if every pupil were alone

alone = cr.evaluate(pupils, named, "passed").significance(999, seed=1)
print(alone)

# %%
# The new book seems to harm. That is 40 teachers speaking, not 1,000 pupils.
#
# ## Pupils of a class belong together

together = cr.evaluate(pupils, named, "passed", groups="class").significance(999, seed=1)
print(together)

# %%
# Tutoring, which differs within classes, is as clear as before. The book is not supported any more: its interval is
# twice as wide, and its p-value now flips the signs of whole classes.
#
# Is this one table typical? How often does a book that does nothing have an interval without 0, in 100 schools?

found = {"every pupil alone": 0, "groups": 0}
for seed in range(100):
    rng = np.random.default_rng([5, seed])
    teacher = rng.normal(0, 0.25, n_classes)[school_class]
    school = {
        "class": school_class,
        "book": rng.permutation(np.arange(n_classes) % 2)[school_class],
        "passed": (rng.random(n_classes * size) < 0.5 + teacher).astype(int),
    }
    for name, groups in (("every pupil alone", None), ("groups", "class")):
        measured = cr.evaluate(school, "book = 1", "passed", groups=groups)[0]
        found[name] += not measured.interval.low < 0 < measured.interval.high
for name, number in found.items():
    print(f"{name}: in {number} of 100 schools (nominal: 5)")

# %%
# [How to handle clusters](../howto/clusters.md) has what to do in a search, and [Trust, for
# statisticians](../trust-statistics.md) the simulations.
