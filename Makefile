# The workflow, the checks and the benchmarks, in an environment of their own. `make` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test test-trained test-old-processor lint bench docs pictures

help:
	@echo "make demo   try the released pipeline; then train, package, try and install one on the"
	@echo "            demo corpus"
	@echo "make test   run the tests"
	@echo "make test-trained  run what is trained"
	@echo "make test-old-processor  run what is trained as an older processor rounds"
	@echo "make lint   check style and types"
	@echo "make bench  measure speed and memory"
	@echo "make docs   fill the tables of docs/ that come from the code"
	@echo "make pictures  draw those of docs/ again"

demo: $(READY)
	$(BIN)/python -m spacy project run first .
	$(BIN)/python -m spacy project run all . --vars.corpus demo --vars.part test
	$(BIN)/python -m spacy project run install . --vars.corpus demo
	$(BIN)/python -c "import spacy; doc = spacy.load('zh_flat_demo')('新任总经理陈志远毕业于浙江大学。'); \
	print([(ent.text, ent.label_) for ent in doc.ents])"
	@$(BIN)/python -c "import json; \
	print('F1 on the test part: %.3f' % json.load(open('training/zh_flat_demo/metrics.json'))['ents_f'])"
	@echo "The demo corpus is 810 sentences written for this project, and most entities of its test"
	@echo "part are new: the score shows that all works, not what the model can do (see README.md)."

# A process for each core, up to four. Each has a thread: more would wait for one another. Files keep
# their order, in which those that take long are not the last ones.
TESTS ?=
test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile \
	--no-loadscope-reorder $(TESTS)

# What is trained, with the arithmetic of a processor of 2008. Whether a training that stopped goes on
# is the same on all.
TRAINED := $(addprefix tests/,generator ner similarity training/test_workers.py \
	transformer translator test_readme.py::test_python_runs test_release.py)
test-old-processor: export ATEN_CPU_CAPABILITY = default
test-old-processor: export ONEDNN_MAX_CPU_ISA = SSE41
test-old-processor: export MKL_ENABLE_INSTRUCTIONS = SSE4_2
test-trained test-old-processor:
	$(MAKE) test TESTS="$(TRAINED)"

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python benchmarks/speed.py

docs: $(READY)
	$(BIN)/python docs/make.py

pictures: $(READY)
	$(BIN)/python docs/pictures/draw.py

# Made once, and again when what is to be installed changes.
$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c "import sys; sys.version_info >= (3, 10) or sys.exit( \
	'spacy-flat needs Python 3.10 or later, but $(PYTHON) is %d.%d. Name another with: ' \
	'make PYTHON=python3.12 …' % sys.version_info[:2])"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -c constraints.txt -e ".[dev]"
	touch $@
