//! Whole searches: threads, interruptions, remote rows, and what is left out.

use super::*;

fn search(table: &Arc<Table>, threads: usize, steps_of: Duration) -> Vec<(i64, Vec<u32>)> {
    let rows = Arc::new(Local::new(table.clone()));
    search_rows(rows, 0, None, threads, steps_of)
}

/// A search with a single source.
pub(super) fn begin(rows: Arc<dyn Rows>, estimator: Arc<dyn Estimator>, options: Options) -> Search {
    let source = Source::new(rows, estimator, None, None, &options);
    Search::new(source, None, 1, options)
}

pub(super) fn search_rows(
    rows: Arc<dyn Rows>,
    kind: u32,
    max_length: Option<usize>,
    threads: usize,
    steps_of: Duration,
) -> Vec<(i64, Vec<u32>)> {
    let estimator = estimator(kind, rows.layout());
    let options = Options {
        k: 5,
        alpha: 1.0,
        max_length,
        min_rows: 1,
        floor: i64::MIN,
    };
    let search = begin(rows, estimator, options);
    for _ in 0..1_000_000 {
        if search.step(steps_of, threads).done {
            return search.rules();
        }
    }
    panic!("the search does not end");
}

#[test]
fn threads_and_interruptions_do_not_change_the_result() {
    let mut random = Random(7);
    for round in 0..50 {
        let missing = [Missing::False, Missing::Unknown][round / 2 % 2];
        let sample = random_rows(&mut random, 400);
        let table = Arc::new(build_with(&sample, false, 1, missing));
        let rows: Arc<Local> = Arc::new(Local::new(table));
        let kind = [0, 4][round % 2];
        let with = |threads, steps_of| search_rows(rows.clone(), kind, None, threads, steps_of);
        let alone = with(1, Duration::from_secs(60));
        assert_eq!(alone, with(3, Duration::from_secs(60)));
        assert_eq!(alone, with(2, Duration::from_micros(20)));
    }
}

/// Parts of a table that answer as remote rows do.
struct Parts(Vec<Part>);

impl Messenger for Parts {
    fn ask(&self, question: &[u32], length: usize) -> Vec<u64> {
        let mut answers = self.0.iter().map(|part| part.answer(question).unwrap());
        let mut sum = answers.next().unwrap();
        answers.for_each(|more| put_together(question[0], &mut sum, &more));
        assert_eq!(sum.len(), length);
        sum
    }
}

#[test]
fn rows_in_parts_give_the_same_result() {
    let mut random = Random(9);
    for round in 0..96 {
        let missing = [Missing::False, Missing::Unknown][round / 4 % 2];
        let kind = [0, 4][round / 8 % 2];
        let rows = random_rows(&mut random, 150);
        let whole = Arc::new(build_with(&rows, false, 1, missing));
        let n_parts = 1 + random.below(4) as usize;
        let parts = (0..n_parts).map(|part| {
            let mine: Vec<usize> = (0..150).filter(|row| row * n_parts / 150 == part).collect();
            let table = Arc::new(build_with(
                &Sample {
                    strata: mine.iter().map(|&row| rows.strata[row]).collect(),
                    outcomes: mine.iter().map(|&row| rows.outcomes[row]).collect(),
                    weights: vec![1; mine.len()],
                    columns: rows
                        .columns
                        .iter()
                        .map(|column| mine.iter().map(|&row| column[row]).collect())
                        .collect(),
                },
                false,
                1,
                missing,
            ));
            Part::new(table, part as u64)
        });
        let messenger = Arc::new(Parts(parts.collect()));
        let remote = Arc::new(Remote::new((*whole.layout).clone(), propositions(), messenger));
        let local: Arc<Local> = Arc::new(Local::new(whole));
        let max_length = [Some(1), Some(2), Some(3), None][round % 4];
        let time = Duration::from_secs(60);
        let here = search_rows(local, kind, max_length, 1, time);
        assert_eq!(here, search_rows(remote, kind, max_length, 2, time));
    }
}

/// Remote rows that query the status of the search, which takes its lock, on each request.
struct StatusOnAsk {
    parts: Parts,
    search: std::sync::OnceLock<std::sync::Weak<Search>>,
}

impl Messenger for StatusOnAsk {
    fn ask(&self, question: &[u32], length: usize) -> Vec<u64> {
        if let Some(search) = self.search.get().and_then(std::sync::Weak::upgrade) {
            search.status();
        }
        self.parts.ask(question, length)
    }
}

#[test]
fn the_lock_is_not_held_while_rows_are_queried() {
    let mut random = Random(13);
    for round in 0..60 {
        let table = Arc::new(build(&random_rows(&mut random, 60), false, 1));
        let parts = Parts(vec![Part::new(table.clone(), 0)]);
        let curious = Arc::new(StatusOnAsk {
            parts,
            search: std::sync::OnceLock::new(),
        });
        let rows = Arc::new(Remote::new((*table.layout).clone(), propositions(), curious.clone()));
        let options = Options {
            k: 1 + round % 7,
            alpha: 1.0,
            max_length: [Some(2), Some(3), None][round % 3],
            min_rows: 1,
            floor: i64::MIN,
        };
        let search = Arc::new(begin(rows, estimator([0, 4][round % 2], &table.layout), options));
        curious.search.set(Arc::downgrade(&search)).unwrap();
        while !search.step(Duration::from_secs(60), 1 + round % 3).done {}
        assert!(!search.rules().is_empty());
        let saved = search.save(usize::MAX).unwrap();
        search.restore(&saved).unwrap();
    }
}

#[test]
fn invalid_questions_are_rejected() {
    let table = Arc::new(build(&random_rows(&mut Random(10), 10), false, 1));
    for question in [&[][..], &[99], &[1, 5, 0], &[1, 1, 77], &[7, 0], &[2]] {
        let part = Part::new(table.clone(), 0);
        assert!(part.answer(question).is_err(), "{question:?}");
    }
}

#[test]
fn saving_and_resuming_does_not_change_the_result() {
    let mut random = Random(11);
    for round in 0..40 {
        let table = Arc::new(build(&random_rows(&mut random, 200), false, 1));
        let rows = Arc::new(Local::new(table));
        let max_length = [Some(2), Some(3), None][round % 3];
        let kind = [0, 4][round / 2 % 2];
        let expected = search_rows(rows.clone(), kind, max_length, 1, Duration::from_secs(60));
        let fresh = || {
            let estimator = estimator(kind, rows.layout());
            let options = Options {
                k: 5,
                alpha: 1.0,
                max_length,
                min_rows: 1,
                floor: i64::MIN,
            };
            begin(rows.clone(), estimator, options)
        };
        let mut search = fresh();
        // A little longer each time, so that it ends on any machine and is saved in many states.
        for attempt in 1.. {
            if search.step(Duration::from_micros(20 * attempt), 1).done {
                break;
            }
            let saved = search.save(usize::MAX).unwrap();
            search = fresh();
            search.restore(&saved).unwrap();
            assert!(fresh().restore(&saved[..saved.len() - 1]).is_err());
        }
        assert_eq!(search.rules(), expected);
    }
}

#[test]
fn a_search_for_more_rules_can_be_restored_as_one_for_fewer() {
    let mut random = Random(12);
    for _ in 0..40 {
        let rows = Arc::new(Local::new(Arc::new(build(&random_rows(&mut random, 20), false, 1))));
        let fresh = |k| {
            let options = Options {
                k,
                alpha: 1.0,
                max_length: Some(3),
                min_rows: 1,
                floor: i64::MIN,
            };
            begin(rows.clone(), estimator(4, rows.layout()), options)
        };
        let more = fresh(12);
        while !more.step(Duration::from_secs(60), 1).done {}
        let fewer = fresh(2);
        fewer.restore(&more.save(usize::MAX).unwrap()).unwrap();
        while !fewer.step(Duration::from_secs(60), 1).done {}
        assert_eq!(fewer.rules(), more.rules()[..more.rules().len().min(2)]);
    }
}

#[test]
fn the_reported_bound_holds_at_any_time() {
    let mut random = Random(8);
    for _ in 0..50 {
        let table = Arc::new(build(&random_rows(&mut random, 300), false, 1));
        let best = search(&table, 1, Duration::from_secs(60))[0].0;
        let estimator = Arc::from(create(0, 1.0, &table.layout));
        let options = Options {
            k: 1,
            alpha: 0.5,
            max_length: None,
            min_rows: 1,
            floor: i64::MIN,
        };
        let search = begin(Arc::new(Local::new(table.clone())), estimator, options);
        for _ in 0..1_000_000 {
            let status = search.step(Duration::from_micros(5), 1);
            let reach = status.best.max(status.unexplored).unwrap();
            assert!(reach >= best, "{status:?} does not reach {best}");
            if status.done {
                let found = status.best.unwrap();
                assert!(found >= best || found as f64 >= 0.5 * best as f64);
                break;
            }
        }
    }
}
