# Every target is complete from a fresh clone; ./dev does the work and needs no make.
.PHONY: setup demo test lint check slow compat bench
setup demo test lint check slow compat bench:
	@./dev $@
