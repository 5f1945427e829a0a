#include "infer/run/softmax_regression.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <thread>

#include "base/error.h"

namespace evener::inference {
namespace {

constexpr int kMostIterations = 300;
/// The iteration has converged when the loss falls by less than this share of itself.
constexpr double kSettled = 1e-5;
constexpr std::size_t kParts = SoftmaxObjective::kParts;

/// Additions in lanes of their own, which the compiler makes vector instructions of.
float dot(const float* a, const float* b, std::size_t count) {
  constexpr std::size_t kLanes = 16;
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t k = 0; k < kLanes; ++k) lanes[k] += a[i + k] * b[i + k];
  }
  float sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const float lane : lanes) sum += lane;
  return sum;
}

void add_scaled(float factor, const float* from, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

/// Calls `work` with each part's number, on so many threads.
template <class Work>
void for_parts(int threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t part = next++; part < kParts; part = next++) work(part);
  };
  std::vector<std::jthread> helpers;
  for (int i = 1; i < std::min<int>(threads, kParts); ++i) helpers.emplace_back(run);
  run();
}

/// What each feature was divided by, after its mean was taken away.
struct Scales {
  std::vector<double> mean, deviation;
};

Scales standardize(FeatureTable& table) {
  const std::size_t samples = table.samples(), values = table.values;
  Scales scales{std::vector<double>(values), std::vector<double>(values)};
  for (std::size_t n = 0; n < samples; ++n) {
    for (std::size_t i = 0; i < values; ++i) scales.mean[i] += table.features[n * values + i];
  }
  for (double& mean : scales.mean) mean /= static_cast<double>(samples);
  for (std::size_t n = 0; n < samples; ++n) {
    for (std::size_t i = 0; i < values; ++i) {
      const double difference = table.features[n * values + i] - scales.mean[i];
      scales.deviation[i] += difference * difference;
    }
  }
  for (double& deviation : scales.deviation) {
    deviation = std::sqrt(deviation / static_cast<double>(samples));
    if (!(deviation > 1e-12)) deviation = 1;  // a feature that is always the same: it becomes 0
  }
  for (std::size_t n = 0; n < samples; ++n) {
    for (std::size_t i = 0; i < values; ++i) {
      float& value = table.features[n * values + i];
      value = static_cast<float>((value - scales.mean[i]) / scales.deviation[i]);
    }
  }
  return scales;
}

/// The numbers with the least value that was found.
std::vector<float> minimized(SoftmaxObjective& objective) {
  const auto step = static_cast<float>(1 / objective.curvature());
  std::vector<float> at(objective.size()), ahead = at, gradient(at.size());
  double momentum = 1, before = objective.value(at, gradient);
  int settled = 0;
  for (int i = 0; i < kMostIterations && settled < 5; ++i) {
    const double value = objective.value(ahead, gradient);
    const double next_momentum = value > before ? 1 : (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    const auto push = static_cast<float>(value > before ? 0 : (momentum - 1) / next_momentum);
    for (std::size_t k = 0; k < at.size(); ++k) {
      const float moved = ahead[k] - step * gradient[k];
      ahead[k] = moved + push * (moved - at[k]);
      at[k] = moved;
    }
    settled = std::abs(before - value) < kSettled * before ? settled + 1 : 0;
    momentum = next_momentum;
    before = value;
  }
  objective.value(at, gradient);  // whose loss and accuracy are told
  return at;
}

}  // namespace

SoftmaxObjective::SoftmaxObjective(const FeatureTable& table, std::size_t classes, double decay, int threads)
    : table_(table), classes_(classes), row_(table.values + 1), decay_(decay), threads_(threads) {
  for (Part& part : parts_) {
    part.gradient.resize(classes * row_);
    part.scores.resize(classes);
  }
}

double SoftmaxObjective::value(const std::vector<float>& x, std::vector<float>& gradient) {
  for_parts(threads_, [&](std::size_t part) { sum(part, x); });
  std::ranges::fill(gradient, 0.0F);
  double loss = 0, correct = 0;
  const double samples = static_cast<double>(table_.samples());
  for (const Part& part : parts_) {
    loss += part.loss;
    correct += part.correct;
    add_scaled(static_cast<float>(1 / samples), part.gradient.data(), gradient.data(), gradient.size());
  }
  loss_ = loss / samples;
  accuracy_ = correct / samples;
  double squares = 0;
  for (std::size_t c = 0; c < classes_; ++c) {
    const float* const weights = x.data() + c * row_;
    add_scaled(static_cast<float>(decay_), weights, gradient.data() + c * row_, table_.values);
    squares += dot(weights, weights, table_.values);
  }
  return loss_ + decay_ / 2 * squares;
}

double SoftmaxObjective::curvature() const {
  constexpr int kIterations = 20;
  constexpr double kMargin = 1.1;
  std::vector<float> direction(row_, 1.0F), next(row_);
  double largest = 1;
  for (int i = 0; i < kIterations; ++i) {
    std::ranges::fill(next, 0.0F);
    for (std::size_t n = 0; n < table_.samples(); ++n) {
      const float* const x = features(n);
      const float along = dot(direction.data(), x, table_.values) + direction.back();
      add_scaled(along / static_cast<float>(table_.samples()), x, next.data(), table_.values);
      next.back() += along / static_cast<float>(table_.samples());
    }
    const double norm = std::sqrt(dot(next.data(), next.data(), row_));
    if (!(norm > 0)) break;
    largest = norm;
    for (std::size_t k = 0; k < row_; ++k) direction[k] = next[k] / static_cast<float>(norm);
  }
  return kMargin * largest / 2 + decay_;
}

void SoftmaxObjective::sum(std::size_t number, const std::vector<float>& x) {
  Part& part = parts_[number];
  std::ranges::fill(part.gradient, 0.0F);
  part.loss = part.correct = 0;
  const std::size_t begin = number * table_.samples() / kParts, end = (number + 1) * table_.samples() / kParts;
  for (std::size_t n = begin; n < end; ++n) {
    const auto label = static_cast<std::size_t>(table_.labels[n]);
    for (std::size_t c = 0; c < classes_; ++c) {
      const float* const row = x.data() + c * row_;
      part.scores[c] = dot(row, features(n), table_.values) + row[table_.values];
    }
    const auto best = std::ranges::max_element(part.scores);
    const double largest = *best;
    part.correct += static_cast<std::size_t>(best - part.scores.begin()) == label ? 1 : 0;
    double total = 0;
    for (const float score : part.scores) total += std::exp(score - largest);
    part.loss += std::log(total) + largest - part.scores[label];
    for (std::size_t c = 0; c < classes_; ++c) {
      const double share = std::exp(part.scores[c] - largest) / total - (c == label ? 1 : 0);
      float* const row = part.gradient.data() + c * row_;
      add_scaled(static_cast<float>(share), features(n), row, table_.values);
      row[table_.values] += static_cast<float>(share);
    }
  }
}

LinearFit fit_softmax(FeatureTable table, std::size_t classes, double decay, int threads) {
  if (table.samples() == 0) throw Error("there are no features to fit a layer to");
  for (const std::int32_t label : table.labels) {
    if (label >= 0 && static_cast<std::size_t>(label) < classes) continue;
    throw Error("class " + std::to_string(label) + " of a sample is none of " + std::to_string(classes));
  }
  const Scales scales = standardize(table);
  SoftmaxObjective objective(table, classes, decay, threads);
  const std::vector<float> found = minimized(objective);
  LinearFit fit{{}, {}, objective.loss(), objective.accuracy()};
  for (std::size_t c = 0; c < classes; ++c) {
    const float* const row = found.data() + c * (table.values + 1);
    double bias = row[table.values];
    for (std::size_t i = 0; i < table.values; ++i) {
      const double weight = row[i] / scales.deviation[i];
      fit.weight.push_back(static_cast<float>(weight));
      bias -= weight * scales.mean[i];
    }
    fit.bias.push_back(static_cast<float>(bias));
  }
  return fit;
}

}  // namespace evener::inference
