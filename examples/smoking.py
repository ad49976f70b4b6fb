"""A causal graph with edges between actions: smoking, tar and blood pressure

Smoking leaves tar in the lungs and raises blood pressure, and all three are worth a rule. No one set of controls is
right for all of them. With `control="auto"` each rule is adjusted for what its own columns need.

The population is simulated, so that the effects are known: smoking raises the chance of the disease by 10 points
itself, tar by 20 and high blood pressure by 15. Smoking leaves tar in 90 % of smokers (10 % of the others) and raises
blood pressure; age raises the chances of smoking and of the disease.
"""

import random

import causalrules as cr
from causalrules.report.drawing import plot_graph

rng = random.Random(1)
table = {name: [] for name in ("age", "smoking", "tar", "pressure", "disease")}
for _ in range(20_000):
    age = rng.random() < 0.5
    smoking = rng.random() < (0.6 if age else 0.2)
    tar = rng.random() < (0.9 if smoking else 0.1)
    pressure = rng.random() < (0.5 if smoking else 0.3)
    disease = rng.random() < 0.1 + 0.1 * smoking + 0.2 * tar + 0.15 * pressure + 0.1 * age
    for name, value in zip(table, (age, smoking, tar, pressure, disease), strict=True):
        table[name].append(int(value))

# %%
# ## One set of controls for all rules

graph = "age -> {smoking disease}; smoking -> {tar pressure disease}; {tar pressure} -> disease"
actionable = ["smoking", "tar", "pressure"]
print(cr.check(graph, target="disease", actionable=actionable, control="age"))

# %%
# A rule on tar needs smoking as a control, and smoking is to be acted on. Each rule alone has no such problem:
#
# ## Controls for each rule

own = cr.check(graph, target="disease", actionable=actionable, control="auto")
print(own)

# %%
# The graph, with the roles:

plot_graph(graph, own)

# %%
# ![Age causes smoking and the disease; smoking causes tar, blood pressure and the disease](images/smoking.svg)
#
# Six rules, whatever they share (a list in which each adds would hold the columns above fixed):

rules = cr.discover(
    table, "disease", control="auto", actionable=actionable, graph=graph, k=6, max_length=2, stepwise=False
)
for rule in rules:
    print(f"{rule.text}: {100 * rule.effect:.1f} points, adjusted for {', '.join(rule.control)}")

# %%
# How to read them:
#
# - **A rule on smoking alone is its total effect**, with all that follows from it: 10 points of its own, 0.8 · 20 =
#   16 by way of tar, and 0.2 · 15 = 3 by way of blood pressure, 29 points together.
# - **A rule on tar alone** is the effect of the tar: 20 points. Smokers are compared with smokers.
# - **A rule on both is the effect of setting both**, compared with rows where the rule does not hold: some of these
#   have tar without smoking or smoking without tar, as often as they do now. It is not the sum of two effects.
#
# `rule.control` names the controls, and `rule.identification.blocked_paths` the spurious paths that they block:

tar = next(rule for rule in rules if rule.text == "tar = 1")
for path in tar.identification.blocked_paths:
    print(" ".join(path))

# %%
# [Any causal graph](../graph.md) says which controls are valid and which of them are chosen.
