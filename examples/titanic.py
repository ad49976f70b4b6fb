"""Titanic: what went with survival, and is there more to it than sex?

891 passengers of the Titanic, of whom 38.4 % survived. The table comes with the package.
"""

import causalrules as cr

passengers = cr.datasets.titanic()
rules = cr.discover(passengers, target="survived")
print(rules)

# %%
# "Women and children first": the first rule is women of the better classes, the second, with sex and class held fixed,
# children. Is there more to it than sex? Compare *passengers of the same sex*:

adjusted = cr.discover(passengers, target="survived", control="sex")
print(adjusted)

# %%
# What a rule does in each stratum of the controls is in `rule.strata`. The better classes helped both sexes.

best = adjusted[0]
for stratum in best.strata:
    print(
        f"{stratum.labels['sex']:6}  {stratum.p_rule:6.1%} of {stratum.a + stratum.b:3} where {best} holds, "
        f"{stratum.p_not_rule:6.1%} of {stratum.c + stratum.d:3} where it does not"
    )
adjusted.plot("strata")

# %%
# ![Survival by sex, in first and second class and in third](images/titanic.svg)
#
# Children are the other half of the sentence, and the second rule of both lists. A rule that is named in advance is
# measured without a search, and tested by shuffling who survived among passengers of the same sex and class:

children = cr.evaluate(passengers, "age <= 15", target="survived", control=["sex", "class"])
print(children.significance(999))

# %%
# There is no causal graph behind this, so all of these are differences. They are supported as such; whether a seat in
# a better class would have saved somebody is another question ([Is it causal?](../admissibility.md)). The rule as a
# condition for a database:

print(f"SELECT * FROM passengers WHERE {adjusted[0].to_sql('postgres')}")
