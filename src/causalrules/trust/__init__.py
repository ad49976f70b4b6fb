"""How far can a rule be trusted? One module for each reason to doubt it.

`permutation`: would noise do as well?  `calibration`: how conservative must the estimate be?  `holdout`: what is the
effect on rows the search has not seen?  `stability`: does the rule come back on other samples?  `sensitivity`: what
would an unmeasured confounder have to be like?  `overlap`: where is there nothing to compare with?  `verdict`: all of
it in one word. What they find is kept as `evidence` in the RuleSet.
"""
