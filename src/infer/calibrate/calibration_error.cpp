#include "infer/calibrate/calibration_error.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/statistics.h"

namespace evener::inference {
namespace {

constexpr double kMostTemperature = 50;

/// First and second derivative of the loss, by the inverse temperature.
struct Slopes {
  double first = 0, second = 0;
};

/// The expectation of the logits under the softmax at `inverse` must become that under the wanted distribution.
Slopes slopes_at(const LogitTable& table, double inverse, double allowance) {
  Slopes sum;
  for (std::size_t i = 0; i < table.images(); ++i) {
    const float* const logits = table.row(i);
    const double largest = *std::max_element(logits, logits + table.classes);
    double weights = 0, mean = 0, squares = 0, plain = 0;
    for (std::size_t c = 0; c < table.classes; ++c) {
      const double z = logits[c] - largest;  // differences alone count
      const double weight = std::exp(inverse * z);
      weights += weight;
      mean += weight * z;
      squares += weight * z * z;
      plain += z;
    }
    mean /= weights;
    const double truth = logits[table.labels[i]] - largest;
    const double wanted = (1 - allowance) * truth + allowance * plain / static_cast<double>(table.classes);
    sum.first += mean - wanted;
    sum.second += squares / weights - mean * mean;
  }
  return sum;
}

constexpr std::size_t kResamples = 1000;
constexpr double kByChance = 0.95;

void add(const JudgedAnswer& answer, record::ReliabilityBin& bin) {
  ++bin.images;
  bin.confidence += answer.confidence;
  bin.accuracy += answer.is_right ? 1 : 0;
}

/// From sums to means.
void finish(std::vector<record::ReliabilityBin>& bins) {
  for (record::ReliabilityBin& bin : bins) {
    if (bin.images == 0) continue;
    bin.confidence = std::min(1.0, bin.confidence / static_cast<double>(bin.images));
    bin.accuracy /= static_cast<double>(bin.images);
  }
}

std::size_t bin_of(double confidence, std::size_t bins) {
  const auto end = std::ceil(confidence * static_cast<double>(bins));
  return std::min(bins, static_cast<std::size_t>(std::max(1.0, end))) - 1;
}

/// Fills in what the answers would show by chance if each were right with just the probability that it states.
void resample(const std::vector<JudgedAnswer>& answers, record::CalibrationError& error) {
  Random random(1, Purpose::kBootstrap);
  std::vector<std::size_t> places;
  for (const JudgedAnswer& answer : answers) places.push_back(bin_of(answer.confidence, error.bins.size()));
  std::vector<double> errors;
  std::vector<std::vector<double>> accuracies(error.bins.size());
  for (std::size_t n = 0; n < kResamples; ++n) {
    std::vector<record::ReliabilityBin> drawn = error.bins;
    for (record::ReliabilityBin& bin : drawn) bin.accuracy = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      drawn[places[i]].accuracy += random.uniform() < answers[i].confidence ? 1 : 0;
    }
    for (std::size_t bin = 0; bin < drawn.size(); ++bin) {
      drawn[bin].accuracy /= std::max(1.0, static_cast<double>(drawn[bin].images));
      accuracies[bin].push_back(drawn[bin].accuracy);
    }
    errors.push_back(expected_calibration_error(drawn));
  }
  std::ranges::sort(errors);
  error.ece_by_chance = sorted_quantile(errors, kByChance);
  const auto filled = std::ranges::count_if(error.bins, [](const auto& bin) { return bin.images > 0; });
  const double beyond = (1 - kByChance) / 2 / static_cast<double>(filled);  // Bonferroni: all bins together
  for (std::size_t bin = 0; bin < accuracies.size(); ++bin) {
    if (error.bins[bin].images == 0) continue;
    std::ranges::sort(accuracies[bin]);
    error.bins[bin].by_chance =
        record::Interval{sorted_quantile(accuracies[bin], beyond), sorted_quantile(accuracies[bin], 1 - beyond)};
  }
}

}  // namespace

LogitTable LogitTable::rows(const std::vector<std::uint32_t>& images) const {
  LogitTable chosen{.classes = classes, .logits = {}, .labels = {}};
  for (const std::uint32_t image : images) {
    chosen.logits.insert(chosen.logits.end(), row(image), row(image) + classes);
    chosen.labels.push_back(labels[image]);
  }
  return chosen;
}

double fit_temperature(const LogitTable& table) {
  if (table.images() == 0 || table.classes < 2) return 1;
  const double allowance = 1 / (static_cast<double>(table.images()) + 2);
  double low = 1 / kMostTemperature, high = kMostTemperature, inverse = 1;
  constexpr int kMostSteps = 200;
  for (int step = 0; step < kMostSteps && high - low > 1e-12 * high; ++step) {
    const Slopes slopes = slopes_at(table, inverse, allowance);
    if (slopes.first == 0) break;
    (slopes.first > 0 ? high : low) = inverse;
    const double newton = slopes.second > 0 ? inverse - slopes.first / slopes.second : 0;
    const double next = newton > low && newton < high ? newton : std::sqrt(low * high);
    if (std::abs(next - inverse) <= 1e-12 * inverse) break;
    inverse = next;
  }
  return 1 / inverse;
}

double negative_log_likelihood(const LogitTable& table, double temperature) {
  double sum = 0;
  for (std::size_t i = 0; i < table.images(); ++i) {
    const float* const logits = table.row(i);
    const double largest = *std::max_element(logits, logits + table.classes);
    double weights = 0;
    for (std::size_t c = 0; c < table.classes; ++c) weights += std::exp((logits[c] - largest) / temperature);
    sum += std::log(weights) - (logits[table.labels[i]] - largest) / temperature;
  }
  return table.images() == 0 ? 0 : sum / static_cast<double>(table.images());
}

std::vector<JudgedAnswer> answers_at(const LogitTable& table, double temperature) {
  std::vector<JudgedAnswer> answers;
  for (std::size_t i = 0; i < table.images(); ++i) {
    const float* const logits = table.row(i);
    const float* const best = std::max_element(logits, logits + table.classes);
    double weights = 0;
    for (std::size_t c = 0; c < table.classes; ++c) {
      weights += std::exp((static_cast<double>(logits[c]) - *best) / temperature);
    }
    answers.push_back({1 / weights, best - logits == table.labels[i]});
  }
  return answers;
}

std::vector<record::ReliabilityBin> equal_width_bins(const std::vector<JudgedAnswer>& answers, std::size_t bins) {
  std::vector<record::ReliabilityBin> all(bins);
  for (const JudgedAnswer& answer : answers) add(answer, all[bin_of(answer.confidence, bins)]);
  finish(all);
  return all;
}

std::vector<record::ReliabilityBin> equal_mass_bins(std::vector<JudgedAnswer> answers) {
  std::ranges::stable_sort(answers, {}, &JudgedAnswer::confidence);
  std::vector<record::ReliabilityBin> bins(std::min(kReliabilityBins, answers.size()));
  for (std::size_t i = 0; i < answers.size(); ++i) add(answers[i], bins[i * bins.size() / answers.size()]);
  finish(bins);
  return bins;
}

double expected_calibration_error(const std::vector<record::ReliabilityBin>& bins) {
  double images = 0, sum = 0;
  for (const record::ReliabilityBin& bin : bins) {
    images += static_cast<double>(bin.images);
    sum += static_cast<double>(bin.images) * std::abs(bin.accuracy - bin.confidence);
  }
  return images == 0 ? 0 : sum / images;
}

record::CalibrationError calibration_error(const std::vector<JudgedAnswer>& answers, std::size_t bins) {
  record::CalibrationError error;
  error.bins = equal_width_bins(answers, bins);
  error.ece = expected_calibration_error(error.bins);
  error.ece_equal_mass = expected_calibration_error(equal_mass_bins(answers));
  if (!answers.empty()) resample(answers, error);
  return error;
}

}  // namespace evener::inference
