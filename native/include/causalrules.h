typedef struct Builder Builder;
typedef struct Table Table;
typedef struct Search Search;
typedef struct Part Part;

typedef struct {
    int32_t done;
    uint64_t rules;
    double best;        /* NaN if there is no rule yet */
    double kth;         /* NaN if there are fewer than k rules */
    double unexplored;  /* no rule that was not looked at exceeds this; NaN if there is none */
    uint64_t nodes;
    uint64_t open;
} Status;

/* Every function that can fail returns a null pointer or a negative number then, and cr_error says why. */
const char *cr_error(void);

Builder *cr_builder_new(size_t n_propositions, const uint32_t *columns, const int32_t *low, const int32_t *high,
                        size_t n_columns, size_t n_strata, size_t weight_bits);
int32_t cr_builder_size(Builder *builder, size_t n_rows, const int32_t *strata, const uint8_t *outcomes,
                        const uint64_t *weights);
int32_t cr_builder_fill(Builder *builder, size_t n_rows, const int32_t *strata, const uint8_t *outcomes,
                        const uint64_t *weights, const int32_t *const *columns);
Table *cr_builder_finish(Builder *builder); /* frees the builder */
void cr_builder_free(Builder *builder);

/* Rows with and without the outcome, stratum by stratum, that satisfy all the conditions. */
int32_t cr_table_count(const Table *table, size_t n_conditions, const uint32_t *conditions,
                       uint64_t *positive, uint64_t *negative);
void cr_table_free(Table *table);

/* estimator: 0 reliable, 1 plug-in, 2 weighted relative accuracy, 3 association; max_length 0: no limit */
Search *cr_search_new(const Table *table, uint32_t estimator, double beta, size_t k, double alpha,
                      size_t max_length, uint64_t min_rows, int32_t irredundant, double floor);
int32_t cr_search_step(const Search *search, double seconds, size_t threads, Status *status);
/* Fills values[k], lengths[k] and, one rule after the other, conditions[capacity]; returns the number of rules,
   or, when capacity is too small, minus the capacity that is needed. */
int64_t cr_search_rules(const Search *search, double *values, size_t *lengths, uint32_t *conditions,
                        size_t capacity);
void cr_search_free(Search *search);

/* What is needed to go on later: fills numbers[capacity] and returns how many there are; nothing is written if they
   are more than capacity. A search that is restored has the same table and options and has made no step yet. */
int64_t cr_search_save(const Search *search, uint64_t *numbers, size_t capacity);
int32_t cr_search_restore(Search *search, const uint64_t *numbers, size_t length);

/* Rows in several parts. The search asks, every part answers for its own rows (salt tells the parts apart), and
   cr_put_together adds one more part's answer to those of others. `ask` returns 0 when it has filled the answer. */
typedef int32_t (*Ask)(void *context, const uint32_t *question, size_t n, uint64_t *answer, size_t length);
Search *cr_search_new_remote(size_t n_strata, const uint64_t *positive, const uint64_t *negative,
                             size_t n_propositions, const uint32_t *columns, const int32_t *low, const int32_t *high,
                             Ask ask, void *context, uint32_t estimator, double beta, size_t k, double alpha,
                             size_t max_length, uint64_t min_rows, int32_t irredundant, double floor);
Part *cr_part_new(const Table *table, uint64_t salt);
int32_t cr_part_answer(const Part *part, const uint32_t *question, size_t n, uint64_t *answer, size_t length);
void cr_part_free(Part *part);
int32_t cr_put_together(uint32_t kind, uint64_t *sum, const uint64_t *more, size_t length);

/* The value of a rule and the bound over a box of counts, for anyone who wants to check them. */
double cr_value(uint32_t estimator, double beta, size_t n_strata, const uint64_t *all_positive,
                const uint64_t *all_negative, const uint64_t *positive, const uint64_t *negative);
double cr_bound(uint32_t estimator, double beta, size_t n_strata, const uint64_t *all_positive,
                const uint64_t *all_negative, const uint64_t *low_positive, const uint64_t *low_negative,
                const uint64_t *high_positive, const uint64_t *high_negative);
