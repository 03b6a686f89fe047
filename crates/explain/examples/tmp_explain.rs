use std::{env, fs, ops::ControlFlow};
fn cpu() -> f64 { fs::read_to_string("/proc/thread-self/schedstat").unwrap().split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9 }
use fullpipe_scenario::{Experiment, Played, Scene, watch::Watch};
fn main() {
    let mut total = (0.0, 0.0);
    for name in env::args().skip(1) {
        let text = fs::read_to_string(format!("experiments/{name}.toml")).unwrap();
        let experiment = Experiment::parse(&name, &name, &text).unwrap();
        for row in &experiment.rows {
            let begun = cpu();
            let played = (0..row.seeds).map(|n| {
                Scene::new(&row.setup, 1 + u64::from(n), false, Watch::NONE).play(&|_| ControlFlow::Continue(())).unwrap().unwrap()
            }).collect();
            let played = Played::of_seeds(played);
            let row_s = (cpu() - begun);
            let begun = cpu();
            let found = fullpipe_explain::explain_played(&row.setup, 1, &played).unwrap();
            let own_s = (cpu() - begun);
            total.0 += row_s; total.1 += own_s;
            println!("== {name} / {} : {:.2} Mbit/s, {} segments, {} seeds, row {row_s:.2} s, explained {own_s:.2} s ({:.1}x), {} runs", row.label, played.measured.goodput_mbps, played.measured.data_segments, row.seeds, own_s/row_s, found.runs);
            println!("   {}", found.parts.line());
        }
    }
    println!("rows {:.1} s, explained {:.1} s", total.0, total.1);
}
