"""The package's errors and warnings, each with a code. Codes are never reused."""

import re

_CODED = re.compile(r"\[[EFW]\d{3,}\] ")


def is_coded(error: Exception) -> bool:
    """Whether it is an error of this package or of spaCy, with a message for the user."""
    return _CODED.match(str(error)) is not None


class Errors:
    """Error texts: what was wrong, where, and what to do. Use as
    `raise ValueError(Errors.F001.format(path=path))`."""

    # F00x, F01x: files of words and vectors
    F001 = "[F001] {path}: no such file or folder. Check the path."
    F002 = "[F002] {path}: a folder, but a file was expected. Check the path."
    F003 = "[F003] {path}, line {line}: can't read the rest of the file: {reason}. It may be damaged, incomplete or not compressed as its name says (.gz, .xz). Download it again."
    F004 = "[F004] {path}, line {line}: byte {byte} at offset {offset} of the line is not {encoding}. The file looks like {guess}: add --encoding {guess} to a command that has it, or convert it: iconv -f {guess} -t UTF-8 IN > OUT"
    F006 = "[F006] {path}, line {line}: no word in the first column. Correct the line."
    F007 = "[F007] {path}, line {line}: the frequency {value!r} is not a number of 0 or more. The columns are word, frequency, type; a frequency may be empty. Correct the line."
    F008 = "[F008] {path}, line {line}: {columns} columns, but at most three are allowed: word, frequency, type. Correct the line."
    F010 = "[F010] {path}: no {what} in this file. Check that it is the right file and that it is complete."
    F011 = "[F011] {path}, line {line}: expected a word and {width} numbers, but found {text!r}. Correct the line."
    F012 = "[F012] {path}, line {line}: {value!r} is not a finite number. Correct the line."
    F014 = "[F014] {path}: the header says {expected} vectors, but the file has {found}. It may be incomplete: download it again."
    F015 = "[F015] {path}: binary vectors are not read. Write them as text: gensim.models.KeyedVectors .load_word2vec_format(PATH, binary=True).save_word2vec_format(NEW_PATH)"
    F018 = "[F018] {path}: floret vectors are for n-grams, not words. Give vectors of words, such as those of `spacy init vectors` without --mode floret."
    F019 = "[F019] {path}: spaCy can't load vectors from this folder: {reason}. Give the folder of a pipeline, or its vocab."

    # F02x to F04x: the lexicon
    F024 = "[F024] Can't load the lexicon: {reason}. The data is not a lexicon, or of another version of spacy-flat. Save it again with Lexicon.to_bytes."
    F026 = "[F026] Expected a list, but got {value}. Put a single value into a list."
    F028 = "[F028] Expected a string, but got {value} of type {type}. Convert it to a string first."
    F030 = "[F030] {what} needs {module}. Run: pip install '{package}'"
    F035 = "[F035] {path}, line {line}: {text!r} looks like columns separated by spaces, but most lines of the file do not. Separate word, frequency and type with TABs, end a word that contains spaces with a TAB."
    F040 = "[F040] {name} is {value}, but must be vectors: VectorFile(path), the result of read_vectors(path), or TextVectors(keys, data), all from spacy_flat.vectors."
    F043 = "[F043] {path}: another process is writing to this folder. Wait for it, or choose another folder."
    F044 = "[F044] The pipeline doesn't know the type {type!r}. Choose one of: {known}."
    F045 = "[F045] {path}, line {line}: {text!r} looks like several words or columns. Write one word a line, separate word, frequency (it may be empty) and type with TABs, end a word with such a mark with a TAB."
    F046 = "[F046] Words without the type of a label can't have a trust above 0: {words}. Give them a label as type."
    F048 = "[F048] Expected words with their types, as {{word: type}} or pairs (word, type), but got {value}."
    F049 = "[F049] Expected the path of a word list, but got {value}. Add words themselves with lexicon.add."
    F050 = "[F050] {path}: some words look like no name: {words}. Write one name a line, without marks, or leave the lines out."

    # F10x to F12x: converting corpora of entities
    F102 = "[F102] {path}, line {line}: expected a unit and a tag in two columns, but found {text!r}. Add the missing column."
    F103 = "[F103] {path}, line {line}: {tag!r} is not a {scheme} tag (expected {expected}). Correct it, name another --format, or treat such units as not annotated with --repair."
    F104 = "[F104] {path}, line {line}: {tag!r} continues an entity, but no entity of this type is open. Correct it, or let it start an entity with --repair."
    F105 = "[F105] {path}, line {line}: the {label} entity that ends here has no closing {tag} tag. Correct it, name another --format, or close it with --repair."
    F106 = "[F106] {path}: the first column numbers the lines. It should have the characters or words: delete the numbers."
    F107 = "[F107] {path}, line {line}: the {label} entity at {offsets} is empty, or not in the text of {length} characters. Correct the offsets (in the file they count {way}), or treat the rest of such texts as not annotated with --repair."
    F108 = "[F108] {path}, line {line}: the {label} entity at {offsets} is {surface} in the record, but {found!r} in the text. Correct the offsets (in the file they count {way}), or treat the rest of such texts as not annotated with --repair."
    F109 = "[F109] {path}, line {line}: the {label} entity {surface!r} overlaps the {other_label} entity {other_surface!r}. Delete one, or keep the longer (or first) one with --repair."
    F110 = "[F110] {path}, line {line}: the {label} entity at {offsets} has several parts. Delete it, or take all from the first to the last with --repair."
    F111 = "[F111] {path}, line {line}: expected {wanted}, but found {found!r}. Correct the line."
    F112 = "[F112] Text {id} has {odd!r}, which columns can't hold. Choose --format doccano or label-studio."
    F114 = "[F114] {path}: each unit ends with its position in a word ({units} …), which would become text. Remove the positions first, for example: sed -E 's/^(.)[0-9]/\\\\1/' IN > OUT"
    F115 = "[F115] {path}: the units look like words of a language that is written with spaces ({units} …). Add --words to keep the spaces."
    F118 = "[F118] There is no {what} {name!r}. Choose one of: {names}."
    F119 = "[F119] {path}: can't read the JSON array: {problem}. Correct it, or write one record per line."
    F128 = "[F128] {path}: can't tell how the offsets count: {first}; {second}. Correct the records that differ from the others, or put them into a file of their own."
    F129 = "[F129] {path}: it is JSON, not columns. Leave --format out, or name one of JSON."

    # F13x, F14x: fetching corpora; the command line
    F134 = "[F134] {path}: not a file of Docs ({reason}). Give a .spacy file, as written by `python -m spacy flat convert` and DocBin.to_disk."
    F136 = "[F136] Can't choose a {kind} in the pipeline {source!r}. Found: {components}. {advice}"
    F137 = "[F137] No text given. Give texts after the pipeline, or a file with --file."
    F138 = "[F138] {path}: a file, but a folder was expected. Choose another path."
    F142 = "[F142] {path}: spaCy ignores training files whose name does not end in .spacy. Name the output {path}.spacy"
    F145 = "[F145] {source}: no word list, folder or package of a pipeline. Check the path, or install it."
    F146 = "[F146] {path}: the output must be a {suffix} file. Name it {path}{suffix}"
    F148 = "[F148] {path} already exists and would be overwritten. Choose another folder, or delete it."
    F149 = "[F149] No names to choose from. Set corpora, names or persons in [corpora.train.augmenter]."

    # F15x to F17x: corpora of pairs and poems; what commands read
    F150 = "[F150] {path}: {problem}. Correct it, or name the format with --format{examples}"
    F151 = "[F151] {path}, line {line}: {found}, but expected {wanted}. Correct the line."
    F152 = "[F152] {path}, line {line}: can't read the quotes ({problem}). Double those within quotes."
    F153 = "[F153] {path}, line {line}: the {side} {problem}. Correct or delete it."
    F155 = "[F155] {path}, line {line}: the last column, {found!r}, is not a number as on the other lines. If this is a header, name the columns sentence1, sentence2 and label, or delete the line."
    F156 = "[F156] {path}, line {line}: expected {layout} as JSON, but {problem}. Correct the record."
    F157 = "[F157] {path}, line {line}: the label {found} looks like a score. Add --scores, or use whole numbers."
    F161 = "[F161] The text has {length} characters, but a picture shows at most {limit}. Draw part of it."
    F162 = "[F162] {text!r} contains a stray byte or half of a surrogate pair, so it isn't Unicode. Use the terminal's encoding, usually UTF-8."
    F163 = "[F163] --coarse {value!r}: declare each label once, as LABEL=ONE,OR,MORE, or LABEL= to drop it."
    F165 = "[F165] Invalid weight {weight} for {name!r}. spacy-flat.MixedCorpus.v1 needs weights of 0 or more for the names in its paths: {names}."
    F166 = "[F166] {name}: no component to show, only others than this package's: {components}."
    F169 = "[F169] {path}: no corpus. Name a .spacy file, a folder of them, or raw texts: .txt, .txt.gz, .txt.xz."
    F170 = "[F170] {path}, line {line}: a poem has {found!r} ({code}) in {shown!r}, which often replaces a lost character or ends a title. Correct it, drop the poem with --repair, or use --format lines."
    F171 = "[F171] No annotated corpus among {paths}. Give a .spacy file with at least one text, as from `spacy flat convert`: of .txt files nothing is known."
    F173 = "[F173] An acrostic sets the first character of each line. Use either --prompt or --acrostic."
    F174 = "[F174] {option} has no effect on {path}. Leave it out."
    F175 = "[F175] --columns {columns}: give the numbers of the columns of the unit and of the tag, as 2,3; of a table those of the sentence, the word and the tag, as 1,2,4."

    # F20x: weights and optimizers
    F200 = "[F200] Can't read the model: {reason}. The file is damaged, incomplete or from another package or version. Download or train the pipeline again."
    F201 = "[F201] The weights do not fit the network: {name!r} has shape {found} in the file and {wanted} in the network (None: missing). Load them with the version and architecture that saved them."
    F202 = "[F202] The component has no network yet. Call nlp.initialize(), or load a trained pipeline. spaCy does not initialise [training.frozen_components] unless they are sourced from a trained pipeline."
    F205 = "[F205] The optimizer has multipliers for {unknown}, but the pipeline's parameter groups are {known}. Correct the names in [training.optimizer.multipliers]."
    F206 = "[F206] The schedule spacy-flat.warmup.v1 with shape = {shape!r} cannot have warmup_steps = {warmup} and total_steps = {total}: 0 <= warmup_steps < total_steps, unless shape = 'constant'. For a short training, also lower warmup_steps in [training.optimizer.learn_rate]."
    F207 = "[F207] thinc's RAdam.v1 can't update the networks of this package. Choose another optimizer, with spacy-flat.warmup.v1 as learning rate for the same effect."

    # F23x, F24x: tags and the CRF
    F230 = "[F230] Entity labels must be distinct and not empty, but got {labels}."
    F233 = "[F233] The entity (start, end, label) = {span} has a label that is not among {labels}. Add it to the component with add_label, or correct the annotation."
    F240 = "[F240] The weights are not numbers (NaN). Training has diverged, or the weights are damaged: load an earlier state, and train with a lower learning rate or gradient clipping."
    F241 = "[F241] {name} listens to a shared component. With raw texts, freeze that one ([training] needs frozen_components and annotating_components) and call nlp.update; or replace the listener."
    F242 = "[F242] {name}: unannotated_labels has {label!r}, which is not among the labels {labels}. Correct or delete it."
    F243 = "[F243] {name}: the teacher's labels {labels} must be the first of the component's, {known}, and its tables as large."

    # F30x, F31x: components
    F301 = "[F301] Can't initialise {name!r}: the training examples have no entities. Check the training corpus, or set [initialize.components.{name}.labels]."
    F302 = "[F302] A label must be a string that is not empty, without white space around it, but got {label!r}."
    F303 = "[F303] Component {name!r} has no network yet. Load a trained pipeline, or call nlp.initialize() with training examples first."
    F304 = "[F304] An example's reference and predicted Doc must have the same text, but the reference begins {reference!r} and the predicted one {predicted!r}. Make both from the same text."
    F305 = "[F305] {block}: {name} = {value!r} is invalid: it must be {wanted}."
    F307 = "[F307] {block}: the config says {name} = {value!r}, but the component was trained with {saved!r}, which can't be changed. Correct the config, or train again."
    F308 = "[F308] Component {name!r} has no lexicon before nlp.initialize(). Add words after it, or set [initialize.components.{name}.lexicon]."
    F309 = "[F309] {path}: can't load the component. {reason}"
    F310 = "[F310] Component {name!r}: {setting} = {value!r} is not {wanted}. Correct it in [components.{name}], or where it is set."
    F312 = "[F312] Expected two texts in pair number {number} (from 0), (left, right), but got {value}."
    F313 = "[F313] The tokenizer does not split {token!r} at U+001F, which separates the two texts of a pair. Use another one, or set doc.spans['pair'] before the pipeline processes the Doc."
    F315 = "[F315] {block}: variant has no option {name!r}. Choose one of: {others}."

    # F32x, F33x: pairs of texts; search
    F320 = "[F320] {text!r} contains U+001F, which separates the two texts of a pair. Replace it with a space."
    F322 = "[F322] Component {name!r} can't tell which of its labels {labels} means that two texts are the same: positive_label is {given!r}. Set [components.{name}.positive_label] to one of them."
    F323 = "[F323] Can't initialise {name!r}: no training example is a pair of texts. Convert the corpus with `python -m spacy flat convert`, or put two spans into doc.spans['pair'] of each."
    F324 = "[F324] Component {name!r} needs {wanted} in doc.cats of the training pairs, but found {labels}. Check the corpus, [initialize.components.{name}.labels] and the network's objective."
    F325 = "[F325] {name} doesn't use {given} with {setting}. Remove them from [initialize.components.{name}], or change the setting in [components.{name}.model]."
    F326 = "[F326] Pickled Docs lose doc.similarity. Use nlp.get_pipe('re2_similarity').similarity(doc, other)."
    F327 = "[F327] Component {name!r} has nothing to read: with embed_width = 0, give it vectors or a tok2vec."
    F328 = "[F328] Component {name!r} predicts a score, but only class probabilities can be calibrated."
    F329 = "[F329] Can't calibrate {name!r}: give pairs of texts with different ones of its labels {labels}."
    F330 = "[F330] An index needs questions, and each of them texts that are not blank{where}."
    F331 = "[F331] {path}: not an index, since {file} is missing. Save one with TextIndex.save."
    F332 = "[F332] {path}: can't load the index: {reason}. Make it again."
    F334 = "[F334] {path}: the index was made by another pipeline, or before component {name!r} was trained further. Make it again."
    F335 = '[F335] {questions} questions have {answers} answers. Give one for each, or "" for none.'
    F336 = '[F336] {path}, line {line}: expected texts in the column or under the key "question" (or 问题) and, if present, "answer" (or 答案). Correct the line, or rename the columns.'

    # F34x: arguments of functions; the character generator
    F340 = "[F340] Can't initialise {name!r}: the training examples have no text. Check the corpus."
    F341 = "[F341] {name} = {value!r} is invalid: it must be {wanted}."
    F343 = "[F343] Unknown form {form!r}. Choose one of {names}, or lines x characters, such as 6x5."
    F344 = "[F344] {heads!r} has {found} characters, but the form has {lines} lines. Give {lines}."
    F346 = "[F346] The prompt {prompt!r} has {found} characters, but the form has {room}. Shorten it."
    F347 = "[F347] Component {name!r} knows no characters for poems, such as Chinese ones. Train it on poems."
    F348 = "[F348] Can't calibrate {name!r}: it found no entities in annotated examples. Give others."

    # F35x, F36x: devices; transformers
    F350 = "[F350] Can't put the network on the device {device!r}: torch finds {found}. Set device = \"cpu\" in a config, --device cpu, or spacy.load(PATH, config={{\"components.NAME.device\": \"cpu\"}})."
    F362 = "[F362] {name}: its tokenizer, {tokenizer}, can't split text into single characters. It must be a fast one with pieces for start, end, padding and unknown text, as those of BERT."
    F363 = "[F363] {name}: this encoder reads at most {places} pieces, two of them around the text, but window = {window}. Lower it in the block model.network of the component `transformer`."
    F364 = "[F364] {name}: can't load the encoder. Give the path of a folder in Hugging Face's format (config.json, vocab.txt or tokenizer.json, and the weights), or the name of a model there. `nlp.initialize` and `spacy assemble` read it again even for a trained pipeline: to continue training, call `nlp.resume_training` instead; to assemble, name the pipeline as the components' `source`. {reason}"
    F365 = "[F365] No initialised transformer precedes the component that listens to one. Add a component `transformer` with the architecture spacy-flat.CharacterTransformer.v1 before it. spaCy does not initialise [training.frozen_components] unless they are sourced from a trained pipeline: to keep the encoder fixed, unfreeze it and set fine_tune = false."
    F366 = "[F366] No {kind} has read {text!r}, and a component needs its vectors. Put the {kind} of the trained pipeline before the component, nlp.add_pipe(\"{kind}\", source=trained), or enable it. Or source the component after trained.replace_listeners(\"{kind}\", NAME, [\"model.tok2vec\"]). In training, the {kind} must be one of annotating_components if the component is. spaCy's components, such as ner and tagger, listen by spacy-transformers.TransformerListener.v1."
    F367 = '[F367] The units are tokens (unit = "token"), but the tok2vec gives vectors of characters. Use spacy-transformers.TransformerListener.v1 as tok2vec, which pools one vector per token.'
    F368 = "[F368] Component {name!r} reads neither characters nor bigrams, and has no tok2vec. Set characters = true in its block model.sequence, or give it a tok2vec."
    F369 = "[F369] The component listens to vectors of width {width}, not {wanted}. Correct it in model.tok2vec."

    # F37x: small pipelines
    F370 = "[F370] No component of the pipeline is of spacy-flat: {components}. Only these can be compact."
    F371 = "[F371] To drop rows by their counts, count texts first: with --text, or with Compactor.count."
    F372 = "[F372] Even without any row in its tables, the pipeline takes {size:.1f} MB, more than {limit:.1f} MB. Allow more (--max-size), or take fewer bits or a smaller lexicon."
    F375 = "[F375] {path} is or contains the pipeline to read, {source}. Name another folder."
    F379 = "[F379] The transformer has no vectors of the characters of {text!r}. A BERT below a component of spacy-flat needs the architecture spacy-flat.CharacterTransformer.v1."

    # F38x, F39x: files
    F384 = "[F384] {path}: all checkpoints are damaged or missing. Delete the folder to start again."
    F385 = "[F385] The Doc has no alternatives. Set `alternatives` of the recogniser, and process the text again."
    F386 = "[F386] {label!r} can't be a label of entities: it marks words and spans that are none."
    F390 = "[F390] {path}, line {line}: can't tell which column the questions are. Name the columns in the first line, one of them \"question\" (or 问题) and, if there are answers, one \"answer\" (or 答案)."
    F392 = "[F392] The span {span} exceeds the text, which has {length} characters. Give (start, end, label) with 0 <= start <= end <= {length}."
    F395 = "[F395] {path}: contains other files: {names}. Choose an empty or new folder."

    # F40x, F42x, F43x: the translator; parallel corpora
    F403 = "[F403] Can't initialise {name!r}: of {n} training examples with a text and a translation in doc._.translation, none has a text of at most {longest} characters. Check the corpus, or raise longest_pair in [components.{name}.model.text]."
    F425 = "[F425] {path}, line {line}: expected name, TAB and translation, but found {found!r}. Correct it."
    F426 = "[F426] {path}, line {line}: {name!r} is {second!r} here, but {first!r} before. Delete one of them."
    F432 = "[F432] {path}: unknown file type. Name a file that ends in .txt or .jsonl."
    F433 = "[F433] {path}: the output would replace the input. Name another file."

    # F44x: training in several processes
    F440 = "[F440] --resume needs --output. Give the folder of the training run."
    F441 = "[F441] {path}: contains a training run. Add --resume to continue it, choose another folder, or delete this one to start again."
    F442 = "[F442] The optimizer has a state for {key}, which doesn't belong to a component and can't be saved in a checkpoint. Train this pipeline with `spacy train`."
    F443 = "[F443] The networks of worker {rank} have other sizes than those of worker {other}. All workers need the same config and corpora."
    F444 = "[F444] Another worker of this training was lost: {reason}. Look for its error above, or on its machine. torchrun restarts all workers with --max-restarts; with --resume, they continue from the last checkpoint."
    F445 = "[F445] {path}: cannot resume: {name} changed from {before!r} to {now!r}. Use the original config, choose another folder, or delete this one to start again."
    F446 = "[F446] RANK={rank} and WORLD_SIZE={size} in the environment, but ranks go from 0 to WORLD_SIZE - 1. torchrun sets both. To train with one process, unset RANK."
    F447 = "[F447] {path}: cannot resume: changed since the start: {names}. Restore them, or use another folder."

    # F46x to F48x: annotating at scale
    F466 = "[F466] {paths}: no text files found. Their names must end in one of {suffixes}."
    F467 = "[F467] {name!r} is neither an installed pipeline nor a folder. Check the name, or install it."
    F468 = "[F468] There is no doc._.{name} in the pipeline {pipeline}. Check the name of the attribute."
    F470 = "[F470] Can't start Ray or join its cluster ({address}): {reason}. Check the address and the versions."
    F471 = "[F471] No actor could load the pipeline: {reason}"
    F473 = "[F473] The line can't be read as a JSON object: {reason}. Correct it."
    F474 = "[F474] Under {key!r} is {found}. Name the key or column of the texts with --text."
    F476 = "[F476] No column of text {column!r} among {columns}. Name the column of the texts with --text."
    F477 = "[F477] {address}: can't open this address: {reason}"
    F481 = "[F481] {name}: can't be read (further): {reason}"
    F482 = "[F482] {count} of {shards} shards are not finished, among them {names}. Run the command again."
    F483 = "[F483] {count} failed. See the column `error` of {path} for the reasons."
    F484 = "[F484] The cluster has fewer GPUs than the actors need. Lower --gpus-per-actor, or leave it out."


class Warnings:
    """Warning texts. Use as `warnings.warn(Warnings.W001.format(...), stacklevel=2)`."""

    W001 = "[W001] The lexicon ignores {count} of the words: {words}. A word has 2 to {longest} characters, none of them NUL (U+0000) or a surrogate (U+D800 to U+DFFF)."
    W002 = "[W002] {path}: no words."
    W160 = "[W160] {path}: no entity has the labels {labels}, which --coarse declares, but only {found}."
    W162 = "[W162] {path}: {n} of {total} entities start or end within a word or with punctuation: {first}. If most are wrong, correct the offsets: they were read as the layout says."
    W163 = "[W163] {path}: the offsets are read as {way}: {first}."
    W164 = "[W164] {path}: no blank line, so that its {n} units become one text. Put one after each sentence."
    W165 = "[W165] {path}: {n} texts have parts that aren't annotated. They are written as if they had no other entities."
    W200 = "[W200] The gradient of {key} is not finite; this step was skipped. If it happens often, lower learn_rate or set clip_norm in [training.optimizer]."
    W302 = "[W302] The lexicon has words of types that the pipeline's network doesn't know: {types}. It ignores these types. Choose types among {known}, or train a new pipeline with them in its lexicon. A type that is a label all the same, such as one added later, needs a trust such as 0.999."
    W304 = "[W304] {name}: tokens have {here:.2f} characters on average, {instead}. Use the tokenizer that the component was trained with."
    W305 = "[W305] {name}: {setting} has labels that no entity can have: {unknown}. Correct them in [components.{name}]. Known labels: {known}."
    W306 = "[W306] {name}: without training examples, the component stays untrained. To use a trained one, set source in [components.{name}]."
    W307 = "[W307] {name}: the training examples only have entities of the added labels {labels}: the network will find these everywhere, and forget the others unless nlp.resume_training() was called first. Mix raw texts in ([corpora.train.paths] of spacy-flat.MixedCorpus.v1), or call nlp.rehearse()."
    W308 = "[W308] {name}: only labels that were added since nlp.resume_training() are learnt, not {labels}. To correct these, train again from the result."
    W309 = "[W309] {name}: the training examples only have entities of {labels}, which have a branch, but the whole network learns. To train the branch alone, call rehearse_with(model) with the model of the component before these labels were added."
    W310 = "[W310] {name} listens to a shared component that is trained, too: the scores of labels older than {labels} may change. Freeze that one ([training] needs frozen_components and annotating_components), or replace the listener."
    W380 = "[W380] {path}: this checkpoint is damaged ({reason}); using the previous one."
    W403 = '[W403] {name}: no component before it finds entities, so it makes up names: 北京 may become "Tokyo". Put a recogniser before it: nlp = spacy.load("zh_flat_msra"), then nlp.add_pipe({name!r}, source=spacy.load("zh_seq2seq_tatoeba")). To translate without one, set carry_names = false.'
    W405 = "[W405] {path}: of {n} pairs, {swapped} have no Chinese character in the text, but some in its translation. The text to translate comes first: if the columns or files are swapped, exchange them and convert again."
    W466 = "[W466] {path}: {n} of the files are not annotated: {names}. Only those whose names end in one of {suffixes} are."
