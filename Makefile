# Short names for the chores of dev.py.
.PHONY: demo test lint
demo test lint:
	python3 dev.py $@
