"""Every error and warning that the package raises by itself, each with a code of its own."""

from typing import Any


class _Coded(type):
    """Reading a text puts its name, the code, in front."""

    def __getattribute__(cls, name: str) -> Any:
        text = super().__getattribute__(name)
        return text if name.startswith("__") else f"[{name}] {text}"


class Errors(metaclass=_Coded):
    """Error texts: what was wrong, where, and what to do.

    Use as `raise ValueError(Errors.F001.format(path=path, line=line))`. Hashes are never reused.
    F0xx lexicon and vectors, F1xx corpora and command line, F2xx networks and optimizers,
    F3xx components.
    """

    # Files of words and vectors
    F001 = "{path}: no such file. Check the path."
    F002 = "{path}: a directory, but a file was expected. Check the path."
    F003 = (
        "{path}, line {line}: the file can't be read further: {reason}. It may be damaged or "
        "incomplete, or not compressed as its name says (.gz and .xz are unpacked). Download it "
        "again."
    )
    F004 = (
        "{path}, line {line}: byte {byte} at offset {offset} of the line is not UTF-8. "
        "Convert the file first, for example: iconv -f {encoding} -t UTF-8 IN > OUT"
    )
    F005 = "Can't find jieba's dictionary, the default lexicon. Run: pip install jieba"
    F006 = "{path}, line {line}: no word in the first column. Correct the line, or set skip_bad."
    F007 = (
        "{path}, line {line}: the frequency {value!r} is not a number of 0 or more. The columns "
        "are word, frequency, type. Correct the line, or set skip_bad."
    )
    F008 = (
        "{path}, line {line}: {columns} columns, but there can be three at most: word, frequency, "
        "type. Correct the line, or set skip_bad."
    )
    F009 = "The weight of a word list is {weight}. Give a number above 0."
    F010 = "{path}: no vectors in this file. Check that it is the right file and complete."
    F011 = (
        "{path}, line {line}: expected a word and {width} numbers, but found {text!r}. Correct the "
        "line, or set skip_bad."
    )
    F012 = (
        "{path}, line {line}: {value!r} is not a finite number. Correct the line, or set skip_bad."
    )
    F013 = (
        "{path}, line {line}: a second vector for {key!r}. Delete one of them, or set skip_bad to "
        "use the first."
    )
    F014 = (
        "{path}: the header says {expected} vectors, but there are {found}. The file may be "
        "incomplete: download it again, or set skip_bad to use what is there."
    )
    F015 = (
        "{path}: expected a header line with the number of vectors and their width, but found "
        "{found!r}. A file whose name ends in .bin must be in word2vec's binary form."
    )
    F017 = "{path}, vector {number}: {fault}. Correct the file, or set skip_bad."
    F018 = (
        "{path}: floret vectors, which belong to n-grams and not to words. Give vectors of words, "
        "such as those of `spacy init vectors` without --mode floret."
    )
    F019 = (
        "{path}: spaCy can't load vectors from this folder: {reason}. Give the folder of a "
        "pipeline, or its vocab."
    )
    F035 = (
        "{path}, line {line}: {text!r} looks like columns with spaces between them, but most lines "
        "of the file do not. Put TABs between word, frequency and type; where the spaces belong to "
        "the word, put a TAB behind it. Or set skip_bad."
    )
    F036 = (
        "{path}, line {line}: a TAB, but the columns of most lines of the file have spaces between "
        "them. Put the same between the columns of all lines, or set skip_bad."
    )

    # Training vectors
    F030 = "Training vectors needs gensim. Run: pip install 'spacy-flat[vectors]'"
    F031 = (
        "No {kind} occurs {count} times or more in the texts. Give more text, or lower min_count."
    )
    F034 = (
        "No component of the pipeline {name} has a lexicon. Its components are: {components}. "
        "Name a pipeline that has one, or a word list."
    )
    F037 = (
        "--no-jieba leaves no words, since no word list is given. Name one with --lexicon, or "
        "leave out --no-jieba."
    )

    # The lexicon
    F020 = "min_length = {value!r} is out of range. Choose a whole number from 1 to {limit}."
    F021 = (
        "The frequency of {word!r} is {value!r}. Give a number of 0 or more, or -1 if it is "
        "unknown."
    )
    F022 = "{value!r} frequency bands are out of range. Choose a whole number from 2 to 127."
    F023 = "{path}: no lexicon here, {file} is missing. Save one with Lexicon.to_disk."
    F024 = (
        "The lexicon can't be loaded: {reason}. The data is damaged or is not a lexicon. Save it "
        "again with Lexicon.to_disk or Lexicon.to_bytes."
    )
    F025 = (
        "The lexicon was saved in format {found!r}, but this version of spacy-flat reads format "
        "{expected}. Save it again with this version, or install the version that saved it."
    )
    F026 = "Expected a list, but got {value}. Put a single one into a list."
    F027 = "No word has the id {id!r}. The ids of this lexicon are below {size}."
    F028 = "Expected a string, but got {value} of type {type}. Convert it to a string first."
    F029 = (
        "Expected an Entry whose word, type and origin are strings, but got {value}. To add plain "
        "strings, use Lexicon().add([...])."
    )
    F038 = "{name} is {value}, but must be a string. An unknown type is the empty string."
    F039 = "Expected the path of a word list, but got {value}. To add words themselves, use add."
    F040 = (
        "{name} is {value}, but must be vectors: VectorFile(path), the result of "
        "read_vectors(path), or TextVectors(keys, data), all of spacy_flat.vectors."
    )
    F041 = (
        "lexicon is {value}, but must be a Lexicon. Make one with Lexicon(entries) of "
        "spacy_flat.lexicon, where the entries are Entry(word) or the result of read_words(path)."
    )
    F042 = "{path}: can't be written: {reason}. Free space on the disk, or choose another folder."
    F043 = "{path}: {process} writes to this folder. Wait until it ends, or choose another folder."

    F044 = (
        "The pipeline knows no words of type {type!r}. Its types are: {known}. Choose one of them, "
        "or leave it out."
    )

    # Corpora
    F101 = "{path}: no sentence in this file. Check that it is the right file and complete."
    F102 = (
        "{path}, line {line}: expected a unit and a tag in two columns, found {text!r}. "
        "Add the missing column, or drop such lines with --repair."
    )
    F103 = (
        "{path}, line {line}: {tag!r} is no {scheme} tag (expected {expected}). Correct it, "
        "name another --format, or read such tags as O with --repair."
    )
    F104 = (
        "{path}, line {line}: {tag!r} continues an entity, but none of this type is open. "
        "Correct it, or let it start an entity with --repair."
    )
    F105 = (
        "{path}, line {line}: the {label} entity that ends here has no closing {tag} tag. "
        "Correct it, name another --format, or close it with --repair."
    )
    F106 = (
        "{path}, line {line}: {problem}. Expected a JSON record of CLUENER, doccano, Label Studio, "
        'Prodigy or spaCy: {{"text": …}} with "label", "labels", "entities", "spans" or "ents"; '
        '{{"data": …, "annotations": …}}; or [text, {{"entities": [[start, end, TYPE]]}}]. Correct '
        "it, or drop such records with --repair."
    )
    F107 = (
        "{path}, line {line}: {label} entity at {offsets} lies outside the text of {length} "
        "characters. Correct the offsets, or drop such entities with --repair."
    )
    F108 = (
        "{path}, line {line}: {label} entity {surface!r} is said to be at {offsets}, where the "
        "text has {found!r}. Correct the offsets (CLUENER's ends are inclusive, all others "
        "exclusive), or drop such entities with --repair."
    )
    F109 = (
        "{path}, line {line}: {label} entity {surface!r} overlaps {other_label} entity "
        "{other_surface!r}. Decide for one, or keep the longer one with --repair."
    )
    F110 = (
        "{path}, sentence at line {line}: {label} entity {surface!r} starts or ends with "
        "white space, which spaCy does not allow. Correct it, or trim it with --repair."
    )
    F111 = (
        "{path}, line {line}: unit {unit!r} does not have the {part} that {option} strips. "
        "Leave out the option, or keep such units as they are with --repair."
    )
    F112 = (
        "{target} is the file {source} that is to be converted, which would be overwritten. Name "
        "another output, such as train.spacy."
    )
    F113 = (
        "{path}: its lines end with carriage returns alone, as on old Macs, so that it would be "
        "read as one line. Convert it first: tr '\\r' '\\n' < IN > OUT"
    )
    F114 = (
        "{path}: its units carry the digit of their position in a word ({units} …), which would "
        "become text. Strip it with --strip-position, as for Weibo."
    )
    F115 = (
        "{path}: its units look like words of a language that writes spaces ({units} …), but "
        "would be written together. Give --words."
    )
    F116 = (
        "{path}: {n:,} of {total} had to be repaired ({done}), more than {most:.0%}; nothing was "
        "written. Read as {format} it begins: {sample}. If that is wrong, name another --format or "
        "correct the file; if it is right, raise --max-repairs."
    )
    F117 = "{path}: {option} has no effect on the format {name}. Leave it out, or name a --format."
    F118 = "There is no format {name!r}. Choose one of: auto, {names}."
    F119 = (
        "{path}, line {line}: the JSON array that begins the file can't be read on: {problem}. "
        "Correct it, or write each record on a line of its own."
    )
    F125 = "{path} is a folder. Name a file in it, for example {path}/{source}.spacy"
    # Fetching corpora and the command line
    F120 = "There is no corpus {name!r}. Choose one of: {names}."
    F121 = "{path} does not exist. {advice}"
    F122 = (
        "{path}: SHA-256 is {found}, expected {expected}. The file is incomplete or another "
        "version; nothing was written. Get it again from {homepage}."
    )
    F123 = (
        "{url} could not be downloaded: {reason}. Try again, or get the files from "
        "{homepage}, put them into a folder DIR as DIR/{folder}/{file} and use --source DIR."
    )
    F124 = (
        "Corpus {name!r} cannot be downloaded file by file: {reason} Get it from "
        "{homepage}, put the files into a folder DIR as DIR/{folder}/{file} and use --source DIR."
    )
    F130 = (
        "{path}, line {line}: not a line of a training log ({problem}). Expected the JSON "
        "lines that spacy.ConsoleLogger.v3 writes with output_file."
    )
    F131 = "{path}: the log has no evaluation yet, so there is no curve to draw."
    F132 = (
        "{folder}: neither test.spacy nor dev.spacy is there to score on. Make them with: "
        "python -m spacy flat convert --corpus NAME DATA {folder}"
    )
    F133 = "{path}: no Docs in this file. Check that it is the right file and complete."
    F134 = (
        "{path}: not a file of Docs ({reason}). Give a .spacy file, as `python -m spacy flat "
        "convert` and DocBin.to_disk write it."
    )
    F135 = (
        "GPU {gpu} can't be used: {reason}. Install CuPy for your CUDA version, for example with: "
        "pip install 'spacy[cuda12x]'; or leave out --gpu-id to use the CPU."
    )
    F136 = (
        "The components of the pipeline {name} that have a lexicon are: {components}. Name one of "
        "them with --component."
    )
    F137 = "There is no text to show. Give texts after the pipeline, or a file with --file."
    F138 = "{path} is a file, where a folder is expected. Name another --out."
    F139 = (
        "{path}: paths.{part} is empty, so there is no corpus to look at. Give one: "
        "--paths.{part} FILE.spacy"
    )
    F140 = (
        "{folder}: none of train.spacy, dev.spacy and test.spacy is there. Name the files, or make "
        "them with: python -m spacy flat convert"
    )
    F141 = (
        "{path}, line {line}: unit {unit!r} begins or ends with white space. Correct it (white "
        "space is a unit of its own), or trim it with --repair."
    )
    F142 = (
        "{path}: the name does not end in .spacy, and spaCy passes over such files in training. "
        "Name the output {path}.spacy"
    )
    F143 = (
        "{path}: a .spacy file, which is already converted. Give it to `spacy train` as it is, or "
        "give the corpus file that it was made from."
    )
    F144 = (
        "{path}: the columns are swapped: its first column holds tags ({units} …). Write the unit "
        "first and the tag last."
    )
    F145 = (
        "{source}: neither a word list, nor a folder or package of a pipeline. Check the path, or "
        "install the package."
    )
    F146 = "{path}: pictures are SVG files. Name the output {path}.svg"
    F147 = (
        "{source}: components that compare pairs of texts are: {components}. Name one of them "
        "with --component, or a pipeline that has one."
    )
    F148 = "{path} is there already and would be overwritten. Name another folder."
    # Corpora of pairs of texts
    F150 = (
        "{path}: its content looks like {found}, so its format can't be told. Name it with "
        "--format: {names}."
    )
    F151 = (
        "{path}, line {line}: {found}, but expected {wanted}. Correct the line, or drop such lines "
        "with --repair."
    )
    F152 = (
        "{path}, line {line}: the quotes can't be read ({problem}). Quote a text that holds commas "
        "or quotes, and double the quotes within. `flat convert --repair` drops such lines."
    )
    F153 = (
        "{path}, line {line}: the {side} text {problem}. Correct it, or drop such lines with "
        "--repair."
    )
    F154 = (
        "{path}, line {line}: {found!r} is no {wanted}. Correct it, or drop such lines with "
        "--repair."
    )
    F155 = (
        "{path}, line {line}: its last column, {found!r}, is no number as on the other lines, so "
        "it looks like a header whose names are not known. Call the columns sentence1, sentence2 "
        "and label, or delete the line."
    )
    F156 = (
        "{path}, line {line}: expected {layout} as JSON, but {problem}. Correct the record, or "
        "drop such records with --repair."
    )
    F157 = (
        "{path}, line {line}: the label {found} looks like a score. Give --scores to read the "
        "labels as numbers, or write labels that are names or whole numbers."
    )
    F126 = (
        "{model}: there is nothing to score: no component has one of the scores {scores}. Name a "
        "trained pipeline."
    )
    F127 = (
        "{path}: not one {labels} to score. Check that it is the right file, and that its Docs are "
        "annotated."
    )
    F159 = (
        "{path}: {labels:,} different labels in {pairs:,} pairs, so the last column does not look "
        "like one of labels. Put the columns into the order text, text, label, name them in a "
        "first line (sentence1, sentence2, label), or give --scores where they are numbers."
    )
    F158 = (
        "No component of the pipeline {name} sets entities, of which --errors makes a page. Leave "
        "it out. The components are: {components}."
    )
    # Pictures
    F160 = "A text is empty, so there is nothing to draw. Give at least one character."
    F161 = (
        "The text has {length} characters, but a picture holds at most {limit}. Draw a part of it."
    )
    F162 = (
        "{text!r} holds a stray byte or half of a surrogate pair, which is no Unicode. Give texts "
        "in the terminal's encoding, usually UTF-8."
    )
    F170 = (
        "{path}, line {line}: a poem has {found!r} ({code}) in {shown!r}, which is neither a "
        "character of Chinese nor its punctuation, and often stands for a character that is lost. "
        "Correct it; --repair drops the poem, and --format lines takes any text, one a line."
    )
    F171 = "{path}, line {line}: a poem has no characters. Fill it in, or have --repair drop it."
    F172 = (
        "{path}, line {line}: not a poem in JSON: {problem}. Expected {layout}. Correct the "
        "record, or have --repair drop it."
    )
    F173 = "An acrostic begins with characters of its own: give --prompt or --acrostic."
    F174 = "{option} has no effect on {kind}. Leave it out."
    F175 = (
        "Can't choose a char_generator in the pipeline {source!r}. Found: {components}. Name one "
        "of them with --component, or give another pipeline."
    )
    # Parallel corpora and names
    F420 = (
        "{path}, line {line}: no line beside it, since {shorter} ends before. The two files "
        "must have a line for each other's: find where one is missing; which belong together can't "
        "be told, so --repair is of no help."
    )
    F421 = (
        "{path}, line {line}: {found}, but expected two: a text, a TAB and its translation. "
        "Correct the line, or drop such lines with --repair."
    )
    F422 = "{path}, line {line}: the {side} is empty. Fill it in, or drop such pairs with --repair."
    F423 = (
        "{path}, line {line}: the {side} has {length:,} characters, more than {limit:,}; often "
        "several lines ran into one. Correct it, raise --max-length, or drop such pairs with "
        "--repair."
    )
    F424 = (
        "{path}: the format parallel has the translations in a second file, line by line. Name it "
        "with --target."
    )
    F425 = (
        "{path}, line {line}: expected a name, a TAB and its translation, but found {found!r}. "
        "Correct the line, begin it with # if it is a comment, or set skip_bad."
    )
    F426 = (
        "{path}, line {line}: {name!r} is {second!r} here, but {first!r} on an earlier line. "
        "Delete one of them, or set skip_bad to use the first."
    )
    F427 = (
        "Names that are not in the list are written in pinyin, which needs pypinyin. Run: "
        "pip install 'spacy-flat[translation]'; or set pinyin = false."
    )
    F428 = "Scores of translations need sacrebleu. Run: pip install 'spacy-flat[translation]'"
    F429 = (
        "Can't choose a seq2seq_translator in the pipeline {source!r}. Found: {components}. Name "
        "one of them with --component, or give another pipeline."
    )
    F431 = "{path}: given as the texts and as their translations. Give the second file to --target."
    F430 = "There is no text to translate. Give texts after the pipeline, or a file with --file."
    F432 = "{path}: its name does not say what to write. End it in .txt, .jsonl or .tsv."

    # Tags and the CRF
    F200 = (
        "The model cannot be read: {reason}. The file is damaged, cut short, or not one of this "
        "package and version. Get or train the pipeline again."
    )
    F201 = (
        "The weights do not fit the network: {name!r} has shape {found} in the file and "
        "{wanted} in the network (None: not there). The file was saved by another version or "
        "another architecture; load it with that one, or train again."
    )
    F202 = (
        "There is no network yet. Initialise the pipeline with nlp.initialize(), or load a trained "
        "one. spaCy does not initialise components of [training.frozen_components], unless they "
        "are sourced from a trained pipeline."
    )
    F203 = "{optimizer}: {name} = {value} is out of range, it must be {wanted}."
    F204 = (
        "The weights can be updated by a thinc optimizer only, such as Adam.v1, "
        "spacy-flat.SGD.v1 or spacy-flat.AdamW.v1; got {found}."
    )
    F205 = (
        "The optimizer has multipliers for {unknown}, but the pipeline's parameter groups "
        "are {known}. Correct the names in [training.optimizer.multipliers]."
    )
    F206 = (
        "The schedule spacy-flat.warmup.v1 with shape = {shape!r} cannot have "
        "warmup_steps = {warmup} and total_steps = {total}: total_steps must be above "
        "warmup_steps, which is 0 or more. A rate that does not fall has shape = 'constant'."
    )
    F207 = (
        "thinc's RAdam.v1 can't update the networks of this package. Choose Adam.v1, "
        "spacy-flat.AdamW.v1 or spacy-flat.SGD.v1 in [training.optimizer]; a warm-up of the "
        "learning rate (spacy-flat.warmup.v1) serves the same end."
    )
    F208 = (
        "Training has diverged: the gradient of {key} was not finite in {steps} steps in a row. "
        "Start again from the last good pipeline with a lower learn_rate, a longer warm-up or "
        "clip_norm = 1.0 in [training.optimizer]. If it happens in the first steps, check the "
        "pretrained vectors for values that are not finite."
    )
    F230 = (
        "Entity labels must be distinct and not empty, got {labels}. Remove the empty or "
        "repeated ones."
    )
    F231 = (
        "The entity (start, end, label) = {span} is empty or not within its text of length "
        "{length}. Give character offsets with 0 <= start < end <= length."
    )
    F232 = (
        "The entity (start, end, label) = {span} overlaps an earlier one, and one sequence "
        "of tags holds no overlapping entities. Keep one of them, e.g. with "
        "spacy.util.filter_spans."
    )
    F233 = (
        "The entity (start, end, label) = {span} has a label that is not among {labels}. "
        "Add the label to the component with add_label, or correct the annotation."
    )
    F234 = (
        "In the scheme {scheme}, {tag!r} cannot follow {previous!r} (unit {position} of the "
        "tags). Only legal tags stand for entities: decode them with the CRF, or repair them first."
    )
    F235 = (
        "The masks of a CRF with {n_tags} tags need the shapes ({n_tags}, {n_tags}), "
        "({n_tags},) and ({n_tags},) for transitions, starts and ends, got {shapes}. Take all of "
        "them from one TagSet."
    )
    F236 = (
        "The allowed transitions, starts and ends of a CRF exclude too much: {what}. Allow "
        "more, or take the masks of a TagSet."
    )
    F237 = (
        "The CRF needs emissions of shape (sequences > 0, units > 0, {n_tags}) and for each "
        "sequence a length from 0 to the number of units; got emissions of shape {shape} and "
        "lengths {lengths}. Leave out empty batches, and check the tags the network was built for."
    )
    F238 = (
        "No legal sequence of tags is allowed in row {row}: none that its annotation and the "
        "masks of the CRF allow has one of the tags {tags} at unit {position}. Take the allowed "
        "tags from TagSet.allowed."
    )
    F239 = (
        "The allowed tags must be a bool array of the emissions' shape {expected} (sequences, "
        "units, tags), got shape {shape} of {dtype}. Pad both to the same width."
    )
    F240 = (
        "The {what} are not numbers (NaN), so no tags can be predicted from them. The training "
        "of this network has diverged, or its weights are damaged: load an earlier state, and "
        "train with a lower learning rate or with gradient clipping."
    )
    F241 = (
        "The unknown stretch (start, end) = {stretch} is empty or not within its text of length "
        "{length}. Give character offsets with 0 <= start < end <= length."
    )
    F242 = (
        "{name}: unannotated_labels has {label!r}, which is not among the labels {labels}. "
        "Correct the spelling, or leave it out: a label that the component does not have is "
        "never predicted."
    )

    # Components
    F300 = (
        "{block}: overlap = {overlap} is out of range, it must be from 0 to half of "
        "max_length = {max_length}."
    )
    F301 = (
        "Component {name!r} cannot be initialised: the training examples hold no entity. "
        "Check the training corpus, or give [initialize.components.{name}.labels]."
    )
    F302 = "A label is a string that is not empty, but this is {label!r}."
    F303 = (
        "Component {name!r} has no network yet. Load a trained pipeline, or call "
        "nlp.initialize() with training examples first."
    )
    F308 = (
        "Component {name!r} has no lexicon yet: nlp.initialize() makes it. Add words afterwards, "
        "or give [initialize.components.{name}.lexicon]."
    )
    F309 = "{path}: the component can't be loaded. {reason}"
    F310 = (
        "Component {name!r}: {setting} = {value!r} is not {wanted}. Correct it in "
        "[components.{name}], or where it is set."
    )
    F311 = "Expected a text (a string, a Doc, a span or a token), but got {value} of type {type}."
    F312 = "Expected two texts in pair number {number} (from 0), (left, right), but got {value}."
    F313 = (
        "The pipeline's tokenizer makes one token of {token!r}, in which U+001F separates the two "
        "texts of a pair. Use a tokenizer that splits at white space of every kind, or set "
        "doc.spans['pair'] before the pipeline reads the Doc."
    )
    F314 = (
        "The reference has the texts of a pair in doc.spans['pair'], but the predicted Doc "
        "{text!r} has neither such spans nor U+001F between two texts: it can be trained on, but "
        "never predicted. Make its text with spacy_flat.similarity.pairs.join_pair."
    )
    F304 = (
        "An example's reference and predicted Doc may differ in white space and case only, "
        "but the reference begins {reference!r} and the predicted one {predicted!r}. Make both of "
        "the same text."
    )
    F305 = "{block}: {name} = {value!r} is not possible, it must be {wanted}."
    F306 = (
        "{name} tags units of one kind, unit = {unit!r}, and has no use for {given}. Remove "
        "them from [initialize.components.{name}], or set another unit in model.sequence."
    )
    F307 = (
        "{block}: the config says {name} = {value!r}, but the component was trained with "
        "{saved!r}, which can't be changed afterwards. Correct the config, or train again."
    )

    # Compact pipelines
    F370 = (
        "No component of the pipeline can be made compact (it has {components}): flat_ner and "
        "tener_ner can. Others are kept as they are."
    )
    F371 = (
        "Rows are dropped by how often texts have them, but no texts were counted. Count some, for "
        "example the training corpus: with --text in the command, or with Compactor.count."
    )
    F372 = (
        "Without any row in its tables the pipeline still takes {size:.1f} MB, more than "
        "{limit:.1f} MB. Allow more (--max-size), or drop words of a large lexicon (--known-words)."
    )
    F373 = (
        "{path} is there and is no pipeline, so it is not replaced. Name another folder, or delete "
        "it first."
    )
    F374 = (
        "--max-size = {value!r} is not a size. Write it as 15MB or 15MiB, with K, M or G; a number "
        "alone is of megabytes."
    )
    F376 = (
        "{path} has none of the pipeline's characters and words, so it does not say which rows "
        "matter. Check that it is the right file."
    )
    F375 = (
        "{path} is or contains the pipeline that is to be made compact, {source}, and would be "
        "replaced. Name another folder."
    )

    # Pairs of texts
    F320 = (
        "{text!r} contains U+001F, which separates the two texts of a pair. Replace it by a space."
    )
    F321 = (
        "doc.spans['pair'] holds {count} spans, but a pair has two (Doc: {text!r}). Set both "
        "texts, or leave the group out."
    )
    F322 = (
        "Component {name!r} can't tell which of its labels {labels} means that two texts are "
        "alike: positive_label is {given!r}. Set [components.{name}.positive_label] to one of them."
    )
    F323 = (
        "Component {name!r} cannot be initialised: no training example is a pair of texts. Convert "
        "the corpus with `python -m spacy flat convert`, or put two spans into "
        "doc.spans['pair'] of each."
    )
    F324 = (
        "Component {name!r} needs {wanted} in doc.cats of the training pairs, but found {labels}. "
        "Check the corpus, give [initialize.components.{name}.labels], or set another objective "
        "in [components.{name}.model.network]."
    )
    F325 = (
        "{name} reads inputs = {inputs!r} and has no use for {given}. Remove them from "
        "[initialize.components.{name}], or set other inputs in [components.{name}.model.text]."
    )
    F326 = (
        "This Doc was pickled, and the component that compared it stayed behind. Compare it by the "
        "pipeline: nlp.get_pipe('re2_similarity').similarity(doc, other)."
    )
    F327 = (
        "The texts have {left:,} and {right:,} characters, and the alignment of each with each "
        "would be too large. Align parts of them, such as sentences."
    )
    F328 = (
        "Component {name!r} gives a score, and only probabilities of classes can be calibrated. "
        "Leave it as it is."
    )
    F329 = (
        "Component {name!r} can't be calibrated: no example is a pair of texts whose doc.cats has "
        "one of its labels {labels}. Give pairs with gold classes that it was not trained on."
    )

    # Arguments of functions
    F341 = "{name} = {value!r} is not possible, it must be {wanted}."

    # Devices
    F350 = (
        "The network can't be on the device {device!r}: torch finds {found}. Choose another one: "
        'device = "cpu" in [components.NAME] of a config, --device cpu with a command. In Python a '
        "pipeline that was saved with this device is loaded by spacy.load(PATH, "
        'config={{"components.NAME.device": "cpu"}}).'
    )

    # The character generator
    F340 = (
        "Component {name!r} cannot be initialised: the training examples hold no text. Check the "
        "training corpus."
    )
    F342 = (
        "Rhymes and tones need pypinyin, which knows how characters are read. "
        "Run: pip install 'spacy-flat[poems]'"
    )
    F343 = (
        "There is no form {form!r}. Choose one of {names}, or give the lines and their characters: "
        "Form(6, 5) in Python, 6x5 on the command line."
    )
    F344 = (
        "{heads!r} has {found} characters without its punctuation, but the form has {lines} lines, "
        "each of which begins with one. Give {lines} characters, or another form."
    )
    F345 = (
        "Tone patterns are those of lines of 5 or 7 characters, but the form has lines of "
        "{characters}. Leave out tones, or choose another form."
    )
    F346 = (
        "The prompt {prompt!r} has {found} characters without its punctuation, but the form has "
        "{room}. Shorten it, or choose a longer form."
    )
    F347 = (
        "The vocabulary of component {name!r} has no character that can stand in a line of a poem: "
        "these are letters of scripts without upper and lower case, such as Chinese characters. "
        "Train it on poems."
    )
    F348 = (
        "The scores of the next characters are not numbers (NaN). The training of this network has "
        "diverged, or its weights are damaged: load an earlier state, and train with a lower "
        "learning rate or with gradient clipping."
    )

    # Encoders
    F360 = (
        "{block}: overlap = {overlap} is out of range. Choose a number from 0 to half of "
        "window = {window}."
    )
    F361 = (
        "A BERT beneath a component needs spacy-transformers. "
        "Run: pip install 'spacy-flat[transformers]'"
    )
    F362 = (
        "{name}: its tokenizer, {tokenizer}, can't give one piece a character. It must have a fast "
        "form, and pieces for the start, the end, padding and what is unknown, as those of BERT, "
        "RoBERTa-wwm, MacBERT, ELECTRA and most Chinese ALBERTs have."
    )
    F363 = (
        "{name}: this encoder reads {places} pieces at most, one of them before and one behind the "
        "text, but window = {window}. Set window in the block model.network of the component "
        "`transformer` to a lower number."
    )
    F364 = (
        "{name}: the encoder can't be loaded. Give the path of a folder in the form of Hugging "
        "Face's (config.json, vocab.txt or tokenizer.json, and the weights), or the name of a "
        "model there. `nlp.initialize` reads it also where the pipeline has been trained: to go on "
        "with what it has, call `nlp.resume_training` instead. {reason}"
    )
    F365 = (
        "There is no transformer before the component that listens to one, or it has not been "
        "initialised. Add a component `transformer`, whose architecture is "
        "spacy-flat.CharacterTransformer.v1, before it. spaCy does not initialise components of "
        "[training.frozen_components], unless they are sourced from a trained pipeline: for an "
        "encoder that never learns, leave it out there and set tuned = false."
    )
    F366 = (
        "A component listens to a shared `tok2vec` or `transformer`, which has computed no vectors "
        "of {text!r}. It must be in the pipeline, enabled, before the component, and in training "
        "one of annotating_components where the component is. Source both from a pipeline, or call "
        "`replace_listeners` there first. A BERT needs the architecture "
        "spacy-flat.CharacterTransformer.v1; spaCy's own components, such as ner and tagger, want "
        "vectors of tokens: their tok2vec is spacy-transformers.TransformerListener.v1."
    )
    F367 = (
        'The units are tokens (unit = "token"), but the tok2vec gives vectors of characters. Take '
        "spacy-transformers.TransformerListener.v1 as tok2vec, whose pooling makes one vector a "
        "token."
    )
    F368 = (
        "Component {name!r} reads nothing: neither characters nor bigrams, and it has no tok2vec. "
        "Set characters = true in its block model.sequence, or give it a tok2vec."
    )
    F369 = (
        "The vectors that the component listens to are {width} wide, not {wanted}. Set width = "
        "{width} in the block model.tok2vec."
    )

    F377 = (
        "{name}: the vectors of this encoder are {width} wide, the pipeline was made for {wanted}. "
        "Make it anew to take another encoder."
    )

    # The translator
    F400 = (
        "Component {name!r} can learn from none of the {n} training pairs: each has a side of more "
        "than {longest} characters. Cut the texts into sentences, or raise longest_pair in "
        "[components.{name}.model.text]."
    )
    F403 = (
        "Component {name!r} cannot be initialised: no training example has a text and a "
        "translation in doc._.translation. Convert the corpus with `python -m spacy flat convert`, "
        "or set doc._.translation of the reference Docs."
    )
    F404 = (
        "Component {name!r} can't load the pipeline {entities!r}, which is to find the entities of "
        "translations: {reason}. Install it, or correct [components.{name}.entities]."
    )
    F405 = (
        "Component {name!r}: the pipeline of `entities` translates itself, by {component!r}: to "
        "find the entities of translations would never end. Give a pipeline of the target language "
        "that sets doc.ents."
    )

    F406 = (
        "The pipeline {source!r} has no seq2seq_translator of the name {component!r}, but "
        "{components}. Correct --component, or leave it out if there is one only."
    )
    F407 = (
        "The reference of {text!r} has {value} in doc._.translation, of type {type}, but a "
        "translation is a string, or None where there is none."
    )

    # Searching
    F330 = "There is no text to search in. Give at least one."
    F331 = "{path}: no index here, {file} is missing. Save one with TextIndex.save."
    F332 = (
        "{path}: the index can't be loaded: {reason}. The file is damaged or is no index. Make the "
        "index again."
    )
    F333 = (
        "{path}: the index was saved in format {found!r}, but this version of spacy-flat reads "
        "format {expected}. Make the index again."
    )
    F334 = (
        "{path}: the index was made by another pipeline, or before component {name!r} was trained "
        "further. Load it with the pipeline that made it, or make it again."
    )
    F336 = (
        "{path}, line {line}: no question in column {column}. Correct the line; columns are "
        "separated by {separators}."
    )
    F337 = (
        "{path}, line {line}: expected a JSON object whose {question!r} is a text, and its "
        "{answer!r} too where it has one, but found {text!r}. Correct the line, or name other keys "
        "with --question and --answer."
    )
    F339 = "{path}: no question in this file. Check that it is the right file and complete."
    F391 = "{path}: no word in this list. Check that it is the right file and complete."
    F390 = (
        "{path}, line {line}: the header has no column {name!r}, but {columns}. Name another one "
        "with {option}."
    )

    # Encoders and their pretraining
    F380 = (
        "A budget is either hours or steps, above 0, but got hours = {hours} and steps = {steps}. "
        "Give one of them."
    )
    F381 = (
        "The texts {paths} are too short: they must fill a block of {size} characters for training "
        "and another from one line of {n}, which is held out. Give more text, or choose a smaller "
        "--length."
    )
    F382 = (
        "{path}: no encoder here, {file} is missing. Give a folder that `python -m spacy flat "
        "pretrain` wrote, or a BERT of characters in Hugging Face form with safetensors. Nothing "
        "is downloaded."
    )
    F383 = (
        "{path}: the encoder can't be read: {reason}. It may be damaged, or of a kind that is not "
        "supported; a BERT, an ELECTRA and what `python -m spacy flat pretrain` writes are."
    )
    F384 = "{path}: all checkpoints are damaged or gone. Delete the folder to begin anew."
    F385 = (
        "{path}: holds a pretraining already. Add --resume to go on with it, or choose another "
        "folder."
    )
    F386 = (
        "{path}: can't be resumed, for it began with other {name}: {changes}. Give the same, or "
        "choose another folder."
    )
    F387 = (
        "The loss is not finite at step {step}. Begin anew in another folder, with a lower "
        "learning rate than {rate}."
    )
    F389 = (
        "spacy-flat.Encoder.v1 has no path. Set it to the folder of an encoder, as `python -m "
        "spacy flat pretrain` writes it."
    )
    F395 = (
        "{path}: holds files, but no pretraining: {names}. They might be written over. Choose an "
        "empty or a new folder."
    )
    F396 = (
        "{path}: holds no pretraining that could be resumed. Correct the folder's name, or leave "
        "out --resume to begin one."
    )
    F397 = "{path}: is damaged ({reason}). Delete the folder to begin anew."
    # Training past one process
    F440 = "There is nothing to resume without --output. Give the folder of the training."
    F441 = (
        "{path}: checkpoints of a training are here. Add --resume to go on with it, or delete them "
        "to train anew."
    )
    F442 = (
        "The optimizer has a state for {key}, which belongs to no component, so that no checkpoint "
        "can hold it. Train this pipeline with `spacy train`."
    )
    F443 = (
        "The networks of worker {rank} have other sizes than those of worker {other}. All workers "
        "need the same config and the same corpora."
    )
    F444 = (
        "Another worker of this training was lost: {reason}. Look for its error above, or on its "
        "machine. torchrun starts all workers again with --max-restarts; with --resume they then "
        "go on at the last checkpoint."
    )
    F445 = (
        "{path}: can't be resumed, for {name} was {before!r} and now is {now!r}. Give the config "
        "that the training began with, or another folder, or delete this one to train anew."
    )
    F446 = (
        "The environment variables say RANK={rank} and WORLD_SIZE={size}, but ranks go from 0 to "
        "WORLD_SIZE - 1. torchrun sets both. To train with one process, unset RANK."
    )
    F447 = (
        "{path}: can't be resumed, for the content of {name} has changed. Restore it, choose "
        "another folder, or delete this one to train from the start."
    )
    # Annotating at scale
    F460 = "To annotate needs {module}. Run: pip install {module}"
    F461 = "{path}: no such file or folder. Check the address."
    F462 = (
        "{path}: its name does not say what it holds. Rename it: files of texts end in one of "
        "{suffixes}, and .jsonl and .txt may be packed (.gz, .bz2, .zst)."
    )
    F463 = (
        "{path}: holds files, but not those of a run that could go on: {names}. Choose an empty "
        "or a new folder."
    )
    F464 = (
        "{path}: holds a run with other settings: {name} has changed. Give the same settings to go "
        "on with it, or choose another folder."
    )
    F465 = (
        "{path}: holds a run with other files: {names} were added, changed or taken away since. "
        "Choose another folder to begin anew."
    )
    F466 = "{paths}: no file of texts here. Their names end in one of {suffixes}."
    F467 = "{name!r} is no installed pipeline and no folder. Check its name, or install it."
    F468 = "There is no doc._.{name} in the pipeline {pipeline}. Check the name of the attribute."
    F469 = "{name}: there is no type {type!r} of columns. Choose one of: {types}."
    F470 = (
        "Can't join the Ray cluster at {address}: {reason}. Check its address, and that it has the "
        "same versions of Ray and Python."
    )
    F471 = "No actor could load the pipeline: {reason}"
    F472 = "Byte {offset} of the line is not UTF-8. Convert the file first, for example with iconv."
    F473 = "The line is no JSON object: {reason}"
    F474 = "There is no text in {key!r}. Name the key or column of the texts with --text."
    F475 = "The text or the id has half of a surrogate pair, which is no Unicode."
    F476 = (
        "There is no column {column!r} among {columns}. Name the column of the texts with --text."
    )
    F477 = "{address}: this address can't be opened: {reason}"
    F478 = (
        "The value of doc._.{name} can't be written as {type}: {reason}. Choose another type with "
        "--attribute {name}:TYPE, or leave it out."
    )
    F479 = "There is a column {name!r} already. Leave out this attribute."
    F480 = "{path}: can't be written: {reason}. Finished shards stay: give the command again."
    F481 = "{name}: can't be read (further): {reason}"
    F482 = (
        "{count} of {shards} shards are not finished, among them {names}. Give the same command "
        "again. If an actor dies each time, it may lack memory: try fewer --actors."
    )
    F483 = "{count} failed in this run. See {path} for the reasons, also of earlier runs."
    F484 = (
        "The cluster has no GPU, or less than an actor needs. Lower --gpus-per-actor, or leave "
        "it out to use CPUs."
    )
    F485 = (
        "The process that annotated this row died, and the next one too. It may lack memory, or a "
        "component may have a fault. See the system's log, and try the row by itself."
    )
    F486 = "it has changed since the run began. Choose another folder to begin anew."
    F487 = "{path}: this code can't be imported. Check the path, and that it runs by itself."
    F488 = (
        "Several processes and clusters need {module}. Run: pip install "
        "'spacy-flat[distributed]'; or annotate in one process, without --actors and --address."
    )
    F489 = (
        "Ray can't start on this machine: {reason}. Free some memory and try again, or annotate in "
        "one process, without Ray, with --actors 1."
    )


class Warnings(metaclass=_Coded):
    """Warning texts, used as `warnings.warn(Warnings.W001.format(...), stacklevel=2)`."""

    W001 = (
        "Words were left out of the lexicon: {faults}. A word has {shortest} to {longest} "
        "characters, none of them NUL (U+0000) or a surrogate (U+D800 to U+DFFF). Lexicon.dropped "
        "counts what is left out."
    )
    W002 = (
        "The source {origin!r} adds no word to the lexicon: all of its {count} entries are left "
        "out or are already in an earlier source. Check that it is the right file."
    )
    W003 = (
        "Words of the lexicon with a line break get no vector ({count} of them): a file of vectors "
        "has one word per line."
    )
    W200 = (
        "The gradient of {key} is not finite; this step was left out. If it happens often, "
        "lower learn_rate or set clip_norm in [training.optimizer]."
    )
    W300 = (
        "{name}: only {share:.1%} of the {kind} of the training texts have a pretrained vector. "
        "Check that [initialize.components.{name}.{table}] is the right file for this corpus: "
        "vectors of words are of no use for characters or bigrams."
    )
    W301 = (
        "{name}: only {share:.1%} of the characters of the training texts are in a word of the "
        "lexicon. Check that [initialize.components.{name}.lexicon] has the right word lists for "
        "this corpus."
    )
    W340 = (
        "No text was scored: the corpus has none, so that there is no perplexity. spaCy counts a "
        "missing score as 0, which is above all that a model can reach: check the dev corpus."
    )
    W302 = (
        "The lexicon has words of the types {types}, which this pipeline's network does not know "
        "and ignores. Choose types among {known}, or train again."
    )
    W405 = (
        "{path}: of {n} pairs, {swapped} have no Chinese character in the text, but some in its "
        "translation. The text to translate comes first: if the columns or files are swapped, "
        "exchange them and convert again."
    )
    W380 = "{path}: this checkpoint is damaged ({reason}); the one before is taken."
    W381 = (
        "The encoder in {path} reads {longest} characters at once, but max_length = {max_length}. "
        "Before you train with it, set max_length = {longest}, and overlap = {half} or less."
    )
    W400 = (
        "{name}: {left_out} of {n} training pairs are left out, since a side has more than "
        "{longest} characters. Cut the texts into sentences, or raise longest_pair in "
        "[components.{name}.model.text]."
    )
    W401 = (
        "{name}: no training pair has a name, a number or a word in Latin letters on both sides, "
        "or placeholder_rate is 0: the network can't learn where such stand in a translation. Give "
        "a list of names in [initialize.components.{name}.names], or set carry_names = false."
    )
    W402 = (
        "No name of {path} was used: no component of {pipeline} found an entity in the texts. "
        "Names are carried through where a component before the translator sets doc.ents."
    )
    W460 = (
        "{count} files in the folders were left out, since their names do not say what they hold: "
        "{names}."
    )
