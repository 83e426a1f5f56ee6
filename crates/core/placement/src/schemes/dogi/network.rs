//! The network that predicts a write's class of lifetime: two hidden layers, 1,610 parameters.

/// Number of features of a write.
pub(super) const INPUTS: usize = 6;
/// Neurons of each hidden layer (the authors' prototype; 1.6 thousand parameters: §4.2).
const HIDDEN: usize = 32;
/// Number of classes of lifetime (§4.1).
pub(super) const CLASSES: usize = 10;

const W1: usize = 0;
const B1: usize = W1 + INPUTS * HIDDEN;
const W2: usize = B1 + HIDDEN;
const B2: usize = W2 + HIDDEN * HIDDEN;
const W3: usize = B2 + HIDDEN;
const B3: usize = W3 + HIDDEN * CLASSES;
const PARAMETERS: usize = B3 + CLASSES;

/// Writes between two steps of learning (the authors' prototype).
pub(super) const BATCH: usize = 128;
/// Size of a step. Our choice: the prototype's 0.0003 wants the 23 thousand steps that a drive of
/// 128 GiB gives it; smaller drives have fewer samples.
const STEP: f32 = 0.002;
/// Adam's usual constants (Kingma and Ba, 2015), and the prototype's weight decay.
const FIRST_MOMENT: f32 = 0.9;
const SECOND_MOMENT: f32 = 0.999;
const EPSILON: f32 = 1e-8;
const WEIGHT_DECAY: f32 = 1e-5;

pub(super) type Input = [f32; INPUTS];

/// Weights by input, so that a layer is a sum of rows: the compiler makes vectors of them.
#[derive(Debug)]
pub(super) struct Network {
    parameters: Vec<f32>,
    gradient: Vec<f32>,
    first_moment: Vec<f32>,
    second_moment: Vec<f32>,
    steps: i32,
}

/// The activity of the neurons for one write.
struct Activity {
    first: [f32; HIDDEN],
    second: [f32; HIDDEN],
    output: [f32; CLASSES],
}

impl Network {
    /// Weights drawn evenly, the wider the fewer inputs a neuron has (He et al., 2015).
    pub(super) fn new(draw: &mut impl FnMut() -> f32) -> Network {
        let mut parameters = vec![0.0; PARAMETERS];
        for (weights, inputs) in [(W1..B1, INPUTS), (W2..B2, HIDDEN), (W3..B3, HIDDEN)] {
            let width = (6.0 / inputs as f32).sqrt();
            for weight in &mut parameters[weights] {
                *weight = (2.0 * draw() - 1.0) * width;
            }
        }
        Network {
            parameters,
            gradient: vec![0.0; PARAMETERS],
            first_moment: vec![0.0; PARAMETERS],
            second_moment: vec![0.0; PARAMETERS],
            steps: 0,
        }
    }

    fn activity(&self, input: &Input) -> Activity {
        let parameters = &self.parameters;
        let mut first = layer(input, &parameters[W1..B1], &parameters[B1..W2]);
        rectify(&mut first);
        let mut second = layer(&first, &parameters[W2..B2], &parameters[B2..W3]);
        rectify(&mut second);
        let output = layer(&second, &parameters[W3..B3], &parameters[B3..]);
        Activity {
            first,
            second,
            output,
        }
    }

    /// The most likely class.
    pub(super) fn predict(&self, input: &Input) -> usize {
        let output = self.activity(input).output;
        let mut best = 0;
        for class in 1..CLASSES {
            if output[class] > output[best] {
                best = class;
            }
        }
        best
    }

    /// Learns from a batch of writes and their classes: one step down the mean cross entropy.
    pub(super) fn learn(&mut self, batch: impl Iterator<Item = (Input, usize)>) {
        self.gradient.fill(0.0);
        let mut count = 0;
        for (input, class) in batch {
            self.add_gradient(&input, class);
            count += 1;
        }
        if count > 0 {
            self.step(count as f32);
        }
    }

    fn add_gradient(&mut self, input: &Input, class: usize) {
        let activity = self.activity(input);
        let mut output = soft_max(&activity.output);
        if let Some(wanted) = output.get_mut(class) {
            *wanted -= 1.0;
        }
        let Network {
            parameters,
            gradient,
            ..
        } = self;
        let (weights, biases) = gradient[W3..].split_at_mut(B3 - W3);
        let mut second = back(
            &activity.second,
            &output,
            &parameters[W3..B3],
            weights,
            biases,
        );
        block(&mut second, &activity.second);
        let (weights, biases) = gradient[W2..W3].split_at_mut(B2 - W2);
        let mut first = back(
            &activity.first,
            &second,
            &parameters[W2..B2],
            weights,
            biases,
        );
        block(&mut first, &activity.first);
        let (weights, biases) = gradient[W1..W2].split_at_mut(B1 - W1);
        back(input, &first, &parameters[W1..B1], weights, biases);
    }

    /// One step of Adam.
    fn step(&mut self, count: f32) {
        self.steps = self.steps.saturating_add(1);
        let first_bias = 1.0 - FIRST_MOMENT.powi(self.steps);
        let second_bias = 1.0 - SECOND_MOMENT.powi(self.steps);
        let moments = self.first_moment.iter_mut().zip(&mut self.second_moment);
        let values = self.parameters.iter_mut().zip(&self.gradient);
        for ((parameter, &sum), (first, second)) in values.zip(moments) {
            let gradient = sum / count + WEIGHT_DECAY * *parameter;
            *first = FIRST_MOMENT * *first + (1.0 - FIRST_MOMENT) * gradient;
            *second = SECOND_MOMENT * *second + (1.0 - SECOND_MOMENT) * gradient * gradient;
            let size = (*second / second_bias).sqrt() + EPSILON;
            *parameter -= STEP * (*first / first_bias) / size;
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        4 * self.parameters.capacity() * size_of::<f32>()
    }
}

/// The sums of a layer's neurons before activation.
#[inline]
fn layer<const N: usize, const M: usize>(
    input: &[f32; N],
    weights: &[f32],
    biases: &[f32],
) -> [f32; M] {
    let mut sums = [0.0; M];
    sums.copy_from_slice(biases);
    for (&value, row) in input.iter().zip(weights.chunks_exact(M)) {
        for (sum, weight) in sums.iter_mut().zip(row) {
            *sum += value * weight;
        }
    }
    sums
}

fn rectify(values: &mut [f32]) {
    for value in values {
        *value = value.max(0.0);
    }
}

/// Clears the blame of neurons that were silent.
fn block(blame: &mut [f32], activity: &[f32]) {
    for (blame, &activity) in blame.iter_mut().zip(activity) {
        if activity <= 0.0 {
            *blame = 0.0;
        }
    }
}

fn soft_max(values: &[f32; CLASSES]) -> [f32; CLASSES] {
    let most = values.iter().copied().fold(f32::MIN, f32::max);
    let mut shares = values.map(|value| (value - most).exp());
    let all: f32 = shares.iter().sum();
    for share in &mut shares {
        *share /= all;
    }
    shares
}

/// Adds a layer's gradient. Answers with the blame of its inputs.
fn back<const N: usize, const M: usize>(
    input: &[f32; N],
    blame: &[f32; M],
    weights: &[f32],
    weight_gradient: &mut [f32],
    bias_gradient: &mut [f32],
) -> [f32; N] {
    for (sum, blame) in bias_gradient.iter_mut().zip(blame) {
        *sum += blame;
    }
    let mut passed = [0.0; N];
    let rows = weights
        .chunks_exact(M)
        .zip(weight_gradient.chunks_exact_mut(M));
    for ((&value, passed), (row, sums)) in input.iter().zip(&mut passed).zip(rows) {
        for ((sum, weight), blame) in sums.iter_mut().zip(row).zip(blame) {
            *sum += value * blame;
            *passed += weight * blame;
        }
    }
    passed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws() -> impl FnMut() -> f32 {
        let mut state = 7_u64;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1_u64 << 24) as f32
        }
    }

    #[test]
    fn there_are_as_many_parameters_as_the_paper_says() {
        assert_eq!(PARAMETERS, 1610);
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_cross_entropy() {
        let mut network = Network::new(&mut draws());
        let input = [0.3, -0.7, 1.1, 0.2, -0.4, 0.9];
        let loss = |network: &Network| -soft_max(&network.activity(&input).output)[4].ln();
        network.add_gradient(&input, 4);
        let gradient = network.gradient.clone();
        for index in [0, 5, B1 + 3, W2 + 40, B2 + 1, W3 + 17, B3 + 4] {
            let h = 1e-3;
            network.parameters[index] += h;
            let above = loss(&network);
            network.parameters[index] -= 2.0 * h;
            let below = loss(&network);
            network.parameters[index] += h;
            let slope = (above - below) / (2.0 * h);
            let apart = (slope - gradient[index]).abs();
            assert!(apart < 2e-3, "{index}: {slope} and {}", gradient[index]);
        }
    }

    #[test]
    fn it_learns_what_no_straight_line_tells_apart() {
        let mut draw = draws();
        let mut network = Network::new(&mut draw);
        let mut example = move || {
            let input: Input = std::array::from_fn(|_| 2.0 * draw() - 1.0);
            let class = usize::from(input[0] * input[1] > 0.0) * 3 + 2;
            (input, class)
        };
        for _ in 0..400 {
            let batch: Vec<(Input, usize)> = (0..BATCH).map(|_| example()).collect();
            network.learn(batch.into_iter());
        }
        let right = (0..1000).filter(|_| {
            let (input, class) = example();
            network.predict(&input) == class
        });
        assert!(right.count() > 900);
    }
}
