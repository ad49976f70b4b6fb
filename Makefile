# Short names for the chores of dev.py.
CHORES = setup demo test widths floors coverage lint paper paper-quick bench docs wheel web fuzz
.PHONY: $(CHORES)
$(CHORES):
	python3 dev.py $@
