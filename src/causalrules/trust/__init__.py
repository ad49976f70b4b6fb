"""How far a rule can be trusted: computation only, one module per question.

`permutation`: p-values adjusted for the search. `calibration`: how large β must be. `holdout`: effects on held-out
rows. `stability`: how often a rule reappears on resampled rows. `sensitivity`: unmeasured confounding. `overlap`: rows
without a comparison group. `registry`: all checks. Results are stored as `evidence` in the Result; `repeat` and
`resample` run the search again on other rows.
"""
