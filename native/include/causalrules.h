typedef struct Builder Builder;
typedef struct Table Table;
typedef struct Rows Rows;
typedef struct Search Search;
typedef struct Part Part;
typedef struct Permutations Permutations;
typedef struct Enumeration Enumeration;

typedef struct {
    int32_t done;
    int64_t wants;      /* the number of the source that is needed to go on; −1 if none is */
    uint64_t rules;
    double best;        /* NaN if there is no rule yet */
    double kth;         /* NaN if there are fewer than k rules */
    double unexplored;  /* no rule that was not looked at exceeds this; NaN if there is none */
    uint64_t nodes;
    uint64_t open;
} Status;

/* Every function that can fail returns a null pointer or a negative number then, and cr_error says why. */
const char *cr_error(void);
const char *cr_version(void);

/* What a rule is worth. estimator: 0 reliable, 1 plug-in, 2 weighted relative accuracy, 3 association, 4 pooled.
   betas: for each number of conditions, the last for all longer rules; n_betas 0: beta for all.
   levels: the values of the target's levels, lowest first, between 0 and 1. */
typedef struct {
    uint32_t estimator;
    double beta;
    size_t n_betas;
    const double *betas;
    double margin_scale;
    size_t n_levels;
    const double *levels;
} Estimation;

typedef struct {
    size_t k;
    double alpha;
    size_t max_length; /* 0: no limit */
    uint64_t min_rows;
    double floor; /* rules below this value are not wanted */
} SearchOptions;

/* One table with its controls. */
typedef struct {
    const Rows *rows;
    const Estimation *estimation;
    size_t n_allowed; /* 0: rules may be on any columns */
    const uint64_t *allowed; /* else, for each set of columns that they may be on, two words of bits, the lower first */
    const uint32_t *numbers; /* what the conditions are called outside, rising; null: as in the table */
} Source;

/* A cell is a stratum and a level of the target; the levels of a stratum stand side by side, lowest first.
   missing: what a missing value (a negative code) means to a condition: 0 it does not hold, 1 unknown, 2 unknown and
   the first pass has no columns. reference_…: column, lowest and highest code of the reference rows, to compare with these
   and not with all that are not covered; a negative column for none. */
Builder *cr_builder_new(size_t n_propositions, const uint32_t *columns, const int32_t *low, const int32_t *high,
                        size_t n_columns, size_t n_strata, size_t n_levels, size_t weight_bits, uint32_t missing,
                        int32_t reference_column, int32_t reference_low, int32_t reference_high);
/* columns: read only where missing is 1 and there are no reference rows. */
int32_t cr_builder_size(Builder *builder, size_t n_rows, const int32_t *strata, const uint16_t *outcomes,
                        const uint64_t *weights, const int32_t *const *columns);
int32_t cr_builder_fill(Builder *builder, size_t n_rows, const int32_t *strata, const uint16_t *outcomes,
                        const uint64_t *weights, const uint8_t *reference, const int32_t *const *columns);
Table *cr_builder_finish(Builder *builder); /* frees the builder */
void cr_builder_free(Builder *builder);

/* The rows that a rule covers and those that it fails on, cell by cell. */
int32_t cr_table_count(const Table *table, size_t n_conditions, const uint32_t *conditions,
                       uint64_t *covered, uint64_t *failing, size_t n_cells);
void cr_table_free(Table *table);

/* Rows, as a search asks for them: those of a table, or of parts that are elsewhere. `ask` returns 0 when it has filled the
   answer. all: the rows of each cell. sides: 0 a rule fails on all that it does not cover, 1 missing values are unknown, 2 on
   the reference rows, `reference` of each cell. */
typedef int32_t (*Ask)(void *context, const uint32_t *question, size_t n, uint64_t *answer, size_t length);
Rows *cr_rows_new(const Table *table);
Rows *cr_rows_new_remote(size_t n_cells, size_t n_levels, const uint64_t *all, uint32_t sides, const uint64_t *reference,
                         size_t n_propositions, const uint32_t *columns, const int32_t *low, const int32_t *high,
                         Ask ask, void *context);
void cr_rows_free(Rows *rows);

/* One search over all sources, which have the same rows. `whole`: these rows, with the conditions by their outside numbers;
   null for a single source. The others are added when a step says that it wants them. Rules have the outside numbers
   where there are several sources. */
Search *cr_search_new(const Source *first, const Rows *whole, size_t n_sources, const SearchOptions *options);
int32_t cr_search_add(const Search *search, size_t number, const Source *source);
int32_t cr_search_step(const Search *search, double seconds, size_t threads, Status *status);
/* Fills values, lengths and, one rule after the other, conditions, with room for `capacity` numbers each; returns the
   number of rules, or, when capacity is too small, minus the capacity that is needed. */
int64_t cr_search_rules(const Search *search, double *values, size_t *lengths, uint32_t *conditions,
                        size_t capacity);
void cr_search_free(Search *search);

/* What is needed to go on later: fills numbers[capacity] and returns how many there are; nothing is written if they
   are more than capacity. A search that is restored has the same sources and options and has made no step yet. */
int64_t cr_search_save(const Search *search, uint64_t *numbers, size_t capacity);
int32_t cr_search_restore(const Search *search, const uint64_t *numbers, size_t length);

/* Rows in several parts. A search asks, every part answers for its own rows (salt tells the parts apart), and
   cr_put_together adds one more part's answer to those of others. */
Part *cr_part_new(const Table *table, uint64_t salt);
int32_t cr_part_answer(const Part *part, const uint32_t *question, size_t n, uint64_t *answer, size_t length);
void cr_part_free(Part *part);
int32_t cr_put_together(uint32_t kind, uint64_t *sum, const uint64_t *more, size_t length);

/* Many tables (at most 64) that differ only in a binary outcome, as often in each stratum. All rows of `table`
   have level 0; its last n_outcomes propositions are the outcomes. For each, the largest effect over margin of any rule, if
   it reaches `least`; else minus infinity. A step returns 1 when all is done, and 2 when it has taken more than
   `most_work`, in words and counts that are compared: that depends on the tables alone, not on the machine. */
Permutations *cr_permutations_new(const Table *table, size_t n_outcomes, const Estimation *estimation, size_t max_length,
                        uint64_t min_rows, double least, uint64_t most_work);
int32_t cr_permutations_step(Permutations *permutations, double seconds);
int32_t cr_permutations_ratios(const Permutations *permutations, double *ratios, size_t n_outcomes);
void cr_permutations_free(Permutations *permutations);

/* Conditions of contexts, or of actions, and the codes of the columns that they are on; negative codes are missing, and no
   condition holds. A conjunction has at most `most` conditions (2): on two columns, or on one that both of them narrow. */
typedef struct {
    size_t n_conditions;
    const uint32_t *columns;
    const int32_t *low;
    const int32_t *high;
    size_t n_columns;
    const int32_t *const *codes;
    size_t most;
} Conjunctions;

/* n_total: the rows of the whole table. range, variances: of the target there, and in each stratum. betas: for each number
   of conditions of a context, from 0 to the most, those for each number of an action. */
typedef struct {
    uint64_t n_total;
    double range;
    size_t n_strata;
    const double *variances;
    uint64_t min_rows;
    const double *betas;
} EnumerationOptions;

/* The gain is NaN if there is no pair. */
typedef struct {
    int32_t is_found;
    int32_t is_stopped;
    uint32_t n_context;
    uint32_t n_action;
    uint32_t context[2];
    uint32_t action[2];
    double gain;
    uint64_t n_pairs;
} BestPair;

/* The pair of a context and an action with the highest conservative gain. defaults: not 0 where a row has the default; null
   if all have. The contexts lie in slots, the first that without a condition; a call tries those of some, and returns the
   best whose gain is at least `floor`. `stop` may be null; when another thread writes anything but 0 there, the call
   ends soon. Several threads may call it at once. */
Enumeration *cr_enumeration_new(const Conjunctions *context, const Conjunctions *action, size_t n_rows,
                                const int32_t *strata, const uint64_t *weights, const double *targets,
                                const uint8_t *defaults, const EnumerationOptions *options);
int64_t cr_enumeration_slots(const Enumeration *enumeration);
int32_t cr_enumeration_best(const Enumeration *enumeration, size_t first, size_t last, double floor, int32_t *stop,
                            BestPair *found);
/* The gains of the actions for everybody, except those without a contrast; returns their number, and fills nothing if it
   is more than capacity. Each has room for two conditions. */
int64_t cr_enumeration_everybody(const Enumeration *enumeration, double *gains, size_t *lengths, uint32_t *conditions,
                                 size_t capacity);
void cr_enumeration_free(Enumeration *enumeration);

/* The value of a rule of `length` conditions and the bound over a box of counts, for anyone who wants to check them: NaN
   where they make no sense. failing: null for all that is not covered. */
double cr_value(const Estimation *estimation, size_t n_cells, const uint64_t *all, const uint64_t *covered,
                const uint64_t *failing, size_t length);
double cr_bound(const Estimation *estimation, size_t n_cells, const uint64_t *all, const uint64_t *least_covered,
                const uint64_t *most_covered, const uint64_t *least_failing, const uint64_t *most_failing,
                size_t length);
