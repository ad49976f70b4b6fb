"""Simpson's paradox: adjusting turns an answer round

In two famous tables, the answer among like cases is the opposite of the answer overall. Which of them to act on is a
question about causes, not about numbers.
"""

import causalrules as cr


def compare(data, rule, target, control):
    """Measure a rule, and print it overall, in each stratum, and adjusted."""
    rules = cr.evaluate(data, rule, target, control=control)
    measured = rules[0]
    print(f"{rule}, in points of {target}")
    print(f"{100 * measured.marginal_effect:+6.1f}  overall")
    for stratum in measured.strata:
        print(f"{100 * stratum.difference:+6.1f}  for {control} = {stratum.labels[control]} ({stratum.n:,} rows)")
    low, high = (100 * end for end in measured.interval)
    print(f"{100 * measured.effect:+6.1f}  adjusted for {control} (95 % interval {low:+.1f} to {high:+.1f})")
    return rules


# %%
# ## Kidney stones
#
# Treatment A, open surgery, cured fewer patients than B overall, and more of those with small stones *and* more of
# those with large ones (Charig et al., 1986). A was given the large stones, which are harder to cure.

stones = compare(cr.datasets.kidney_stones(), "treatment = A", "success", "size")
stones.plot("strata")

# %%
# ![Cured by both treatments, for small and for large stones](images/simpson.svg)
#
# The size of a stone influences both the choice of the treatment and its success, and no treatment changes it: it is
# a confounder, and the adjusted answer is the one to act on. That is knowledge, which a causal graph writes down:

graph = "size -> treatment; size -> success; treatment -> success"
print(cr.check(graph, target="success", actionable="treatment", control="size"))

# %%
# Without size among the controls, the graph refuses the question, and says what is missing:

print(cr.check(graph, target="success", actionable="treatment"))

# %%
# ## Admissions to Berkeley
#
# Women were admitted less often than men in 1973, and a little more often within departments (Bickel et al., 1975):
# they applied to the departments that reject most people.

berkeley = compare(cr.datasets.berkeley(), "gender = female", "admitted", "department")

# %%
# Here the department is no confounder: it comes *after* gender, on the way to the decision. Adjusted for it, one asks
# whether departments treat women otherwise than men; unadjusted, whether women are admitted less often, by whatever
# way. Both are good questions, and the table cannot tell which one was meant. The graph can:

berkeley_graph = "gender -> department -> admitted; gender -> admitted"
print(cr.check(berkeley_graph, target="admitted", actionable="gender", control="department"))
