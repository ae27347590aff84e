//! Darknet's recurrent layers.

use super::reference::{Dense, Net, Out, activate, sigmoid};
use relayc_ir::tensor::Tensor;

impl Net {
    /// A state before and after the run.
    pub(super) fn state(&mut self, name: &str, shape: &[usize]) -> Vec<f64> {
        let values: Vec<f64> = (0..shape.iter().product::<usize>()).map(|_| f64::from(self.next() as f32)).collect();
        let before = Tensor::from_vec(shape, values.iter().map(|&x| x as f32).collect::<Vec<f32>>());
        self.states.push((name.to_owned(), before));
        values
    }

    pub(super) fn after(&mut self, shape: &[usize], state: &[f64]) {
        self.more.push(Tensor::from_vec(shape, state.iter().map(|&x| x as f32).collect::<Vec<f32>>()));
    }

    pub(super) fn rnn(&mut self, units: usize, shortcut: bool, norm: bool, number: usize) {
        let x = self.input();
        let [input, own, output] = [x.size(), units, units].map(|inputs| self.dense(inputs, units, norm));
        let f = |row: Vec<f64>| row.into_iter().map(|x| activate("tanh", x)).collect::<Vec<f64>>();
        let mut state = self.state(&format!("rnn{number}_state"), &[1, units]);
        let mut values = vec![];
        for row in x.values.chunks(x.size()) {
            let (a, b) = (f(input.row(row)), f(own.row(&state)));
            state = (0..units).map(|i| a[i] + b[i] + if shortcut { state[i] } else { 0.0 }).collect();
            values.extend(f(output.row(&state)));
        }
        self.after(&[1, units], &state);
        let options =
            format!("output={units} activation=tanh shortcut={} batch_normalize={}", u8::from(shortcut), u8::from(norm));
        self.push("rnn", &options, Out::vector(values, units));
    }

    pub(super) fn lstm(&mut self, units: usize, norm: bool) {
        let x = self.input();
        let [wi, wf, wo, wg] = [(); 4].map(|()| self.dense(units, units, norm));
        let [ui, uf, uo, ug] = [(); 4].map(|()| self.dense(x.size(), units, norm));
        let mut h = self.state("lstm0_state", &[1, units]);
        let mut c = self.state("cell_state0_state", &[1, units]);
        let mut values = vec![];
        for row in x.values.chunks(x.size()) {
            let gate = |u: &Dense, w: &Dense, f: fn(f64) -> f64| -> Vec<f64> {
                u.row(row).into_iter().zip(w.row(&h)).map(|(a, b)| f(a + b)).collect()
            };
            let (i, f) = (gate(&ui, &wi, sigmoid), gate(&uf, &wf, sigmoid));
            let (o, g) = (gate(&uo, &wo, sigmoid), gate(&ug, &wg, f64::tanh));
            c = (0..units).map(|k| f[k] * c[k] + i[k] * g[k]).collect();
            h = (0..units).map(|k| o[k] * c[k].tanh()).collect();
            values.extend(&h);
        }
        self.after(&[1, units], &h);
        self.after(&[1, units], &c);
        self.push("lstm", &format!("output={units} batch_normalize={}", u8::from(norm)), Out::vector(values, units));
    }

    pub(super) fn gru(&mut self, units: usize, bounded: bool) {
        let x = self.input();
        let [wz, wr, wh] = [(); 3].map(|()| self.dense(units, units, false));
        let [uz, ur, uh] = [(); 3].map(|()| self.dense(x.size(), units, false));
        let mut state = self.state("gru0_state", &[1, units]);
        let mut values = vec![];
        for row in x.values.chunks(x.size()) {
            let gate = |u: &Dense, w: &Dense, state: &[f64], f: fn(f64) -> f64| -> Vec<f64> {
                u.row(row).into_iter().zip(w.row(state)).map(|(a, b)| f(a + b)).collect()
            };
            let (z, r) = (gate(&uz, &wz, &state, sigmoid), gate(&ur, &wr, &state, sigmoid));
            let forgot: Vec<f64> = r.iter().zip(&state).map(|(r, s)| r * s).collect();
            let h = gate(&uh, &wh, &forgot, if bounded { f64::tanh } else { sigmoid });
            state = (0..units).map(|k| z[k] * state[k] + (1.0 - z[k]) * h[k]).collect();
            values.extend(&state);
        }
        self.after(&[1, units], &state);
        self.push("gru", &format!("output={units} tanh={}", u8::from(bounded)), Out::vector(values, units));
    }
}
