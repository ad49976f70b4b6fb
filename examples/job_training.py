"""Job training: many controls, and effects in dollars

The National Supported Work programme trained people drawn by lot (LaLonde, 1986), so that comparing those who were
drawn with those who were not gives its effect on earnings. Then the people who were not drawn are replaced by people
from a survey (PSID), who are older, better off and never needed training: can adjusting for eight controls find the
answer of the experiment?

The data are not part of the package. Set CAUSALRULES_DATA to a folder with `causal/lalonde_nsw_dw.csv` and
`causal/lalonde_psid_controls.csv`, as published by Dehejia.
"""

import os
import sys
from pathlib import Path

import pandas as pd

import causalrules as cr

folder = Path(os.environ.get("CAUSALRULES_DATA", "../shared/data")) / "causal"
files = [folder / "lalonde_nsw_dw.csv", folder / "lalonde_psid_controls.csv"]
if absent := [file.name for file in files if not file.is_file()]:
    sys.exit(f"{' and '.join(absent)} not found; set CAUSALRULES_DATA to the folder of the data")
experiment, survey = map(pd.read_csv, files)
controls = ["age", "education", "black", "hispanic", "married", "nodegree", "re74", "re75"]

# %%
# ## The experiment
#
# `re78` is what people earned in 1978. A numeric target is compared by its mean, in its own unit. Treatment was drawn
# by lot: `randomised` says so, and the claim is "by design".

drawn = cr.evaluate(experiment, "treat = 1", "re78", randomised="treat").significance(999)
print(drawn)

# %%
# 1,794 dollars more, which is the published figure (Dehejia & Wahba, 1999). The interval is wide: 445 people.
#
# ## The survey instead
#
# The same people with training, beside the 2,490 of the survey, unadjusted:

mixed = pd.concat([experiment[experiment.treat == 1], survey])
naive = cr.evaluate(mixed, "treat = 1", "re78")
print(f"{naive[0].effect:+,.0f} dollars")

# %%
# As if training cost them their jobs. Eight controls, four of them with many values, leave nearly everybody alone in
# a stratum, so `adjust="auto"` makes strata of the earnings that the controls predict, and says so in a note:

adjusted = cr.evaluate(mixed, "treat = 1", "re78", control=controls).doubly_robust()
print(adjusted)

# %%
# Strata of a prediction are for searching; the doubly robust effect is for believing, and is what is shown. Too few
# of the survey are like those who were trained to tell. What training did for those who were trained, the effect on
# the rule's own rows, is to be compared with the experiment:

robust = adjusted[0].evidence.doubly_robust
print(f"all comparable people: {robust.effect:+,.0f} ({robust.low:+,.0f} to {robust.high:+,.0f}) dollars")
print(f"share of the people that are comparable: {robust.overlap:.0%}")
print(f"those who were trained: {robust.own_effect:+,.0f} ({robust.own_low:+,.0f} to {robust.own_high:+,.0f}) dollars")
print(f"the experiment: {drawn[0].effect:+,.0f} dollars")

# %%
# For those who were trained, adjusting finds the experiment's answer within its interval. For everybody else it does
# not: hardly anybody like them was trained, and what is said about them rests on the models. That is what overlap and
# balance show:

adjusted.plot("balance")

# %%
# ![Controls on both sides, before and after adjusting](images/job_training.svg)
#
# More about it in [many controls](../howto/many-controls.md).
