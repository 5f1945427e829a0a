#include "infer/run/feature_fit.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace evener::inference {
namespace {

using Matrix = std::vector<double>;  // (D, D), row-major

void bring_to_length_one(FeatureTable& table) {
  for (std::size_t i = 0; i < table.samples(); ++i) {
    float* const x = table.features.data() + i * table.values;
    double squares = 0;
    for (std::size_t j = 0; j < table.values; ++j) squares += static_cast<double>(x[j]) * x[j];
    const double scale = squares > 0 ? 1 / std::sqrt(squares) : 0;
    for (std::size_t j = 0; j < table.values; ++j) x[j] = static_cast<float>(x[j] * scale);
  }
}

/// The means of the classes that have images, (classes, D), which are subtracted from the table.
Matrix centre_classes(FeatureTable& table) {
  const std::size_t features = table.values;
  std::int32_t largest = 0;
  for (const std::int32_t label : table.labels) largest = std::max(largest, label);
  const std::size_t classes = static_cast<std::size_t>(largest) + 1;
  Matrix sums(classes * features);
  std::vector<double> counts(classes);
  for (std::size_t i = 0; i < table.samples(); ++i) {
    const auto label = static_cast<std::size_t>(table.labels[i]);
    ++counts[label];
    for (std::size_t j = 0; j < features; ++j) sums[label * features + j] += table.features[i * features + j];
  }
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t j = 0; j < features; ++j) sums[c * features + j] /= std::max(1.0, counts[c]);
  }
  for (std::size_t i = 0; i < table.samples(); ++i) {
    const double* const mean = sums.data() + static_cast<std::size_t>(table.labels[i]) * features;
    float* const x = table.features.data() + i * features;
    for (std::size_t j = 0; j < features; ++j) x[j] = static_cast<float>(x[j] - mean[j]);
  }
  Matrix found;
  for (std::size_t c = 0; c < classes; ++c) {
    if (counts[c] == 0) continue;
    const auto from = sums.begin() + static_cast<std::ptrdiff_t>(c * features);
    found.insert(found.end(), from, from + static_cast<std::ptrdiff_t>(features));
  }
  return found;
}

/// The mean of x x^T over the rows; its lower triangle.
Matrix second_moments(const FeatureTable& table) {
  const std::size_t features = table.values, images = table.samples();
  Matrix moments(features * features);
  // Blocks of rows in float32, which is fast, added up in float64, which is exact.
  constexpr std::size_t kBlock = 64;
  std::vector<float> row(features);
  for (std::size_t begin = 0; begin < images; begin += kBlock) {
    const std::size_t end = std::min(images, begin + kBlock);
    for (std::size_t i = 0; i < features; ++i) {
      std::fill_n(row.begin(), i + 1, 0.0F);
      for (std::size_t n = begin; n < end; ++n) {
        const float* const x = table.features.data() + n * features;
        const float factor = x[i];
        if (factor == 0) continue;
        for (std::size_t j = 0; j <= i; ++j) row[j] += factor * x[j];
      }
      double* const to = moments.data() + i * features;
      for (std::size_t j = 0; j <= i; ++j) to[j] += row[j];
    }
  }
  for (double& value : moments) value /= static_cast<double>(images);
  return moments;
}

/// Shrinks the lower triangle in place; returns the share.
double shrink(Matrix& covariance, const FeatureTable& table) {
  const std::size_t features = table.values;
  const auto d = static_cast<double>(features), n = static_cast<double>(table.samples());
  double trace = 0, squares = 0;
  for (std::size_t i = 0; i < features; ++i) {
    trace += covariance[i * features + i];
    squares += covariance[i * features + i] * covariance[i * features + i];
    for (std::size_t j = 0; j < i; ++j) squares += 2 * covariance[i * features + j] * covariance[i * features + j];
  }
  const double sphere = trace / d;
  if (!(sphere > 0)) throw Error("all images of a class have the same features");
  double fourth = 0;
  for (std::size_t i = 0; i < table.samples(); ++i) {
    double length = 0;
    for (std::size_t j = 0; j < features; ++j) {
      const double value = table.features[i * features + j];
      length += value * value;
    }
    fourth += length * length;
  }
  const double distance = (squares - d * sphere * sphere) / d;  // of S from the sphere
  const double noise = (fourth / n - squares) / (n * d);        // of the estimate S
  constexpr double kLeast = 1e-3;                               // rounding in float32 has to stay small beside it
  const double share = distance > 0 ? std::clamp(noise / distance, kLeast, 1.0) : 1;
  for (std::size_t i = 0; i < features; ++i) {
    for (std::size_t j = 0; j <= i; ++j) covariance[i * features + j] *= 1 - share;
    covariance[i * features + i] += share * sphere;
  }
  return share;
}

/// The lower triangle L with L L^T = `matrix`, in place (Cholesky, row by row).
void factorise(Matrix& matrix, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    double* const row = matrix.data() + i * size;
    for (std::size_t j = 0; j <= i; ++j) {
      const double* const other = matrix.data() + j * size;
      // Four sums at a time, which vectors can hold; one sum alone would be computed number by number.
      double parts[4] = {0, 0, 0, 0};
      std::size_t k = 0;
      for (; k + 4 <= j; k += 4) {
        for (std::size_t p = 0; p < 4; ++p) parts[p] += row[k + p] * other[k + p];
      }
      double sum = row[j] - (parts[0] + parts[1] + parts[2] + parts[3]);
      for (; k < j; ++k) sum -= row[k] * other[k];
      row[j] = j < i ? sum / other[j] : std::sqrt(std::max(sum, 0.0));
    }
    if (!(row[i] > 0)) throw Error("the covariance of the features can't be inverted");
  }
}

/// The inverse of a lower triangle.
Matrix inverted(const Matrix& factor, std::size_t size) {
  Matrix inverse(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    double* const row = inverse.data() + i * size;
    for (std::size_t k = 0; k < i; ++k) {
      const double weight = factor[i * size + k];
      const double* const earlier = inverse.data() + k * size;
      for (std::size_t j = 0; j <= k; ++j) row[j] -= weight * earlier[j];
    }
    const double diagonal = factor[i * size + i];
    for (std::size_t j = 0; j < i; ++j) row[j] /= diagonal;
    row[i] = 1 / diagonal;
  }
  return inverse;
}

}  // namespace

FeatureFit fit_features(FeatureTable table) {
  const std::size_t features = table.values;
  bring_to_length_one(table);
  const Matrix means = centre_classes(table);
  Matrix covariance = second_moments(table);
  FeatureFit fit;
  fit.shrinkage = shrink(covariance, table);
  factorise(covariance, features);
  const Matrix whitening = inverted(covariance, features);
  fit.statistics.features = static_cast<std::int64_t>(features);
  fit.statistics.whitening.assign(whitening.begin(), whitening.end());
  for (std::size_t c = 0; c < means.size() / features; ++c) {
    for (std::size_t i = 0; i < features; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j <= i; ++j) sum += whitening[i * features + j] * means[c * features + j];
      fit.statistics.centres.push_back(static_cast<float>(sum));
    }
  }
  return fit;
}

double threshold_of(std::vector<float> distances, double share) {
  std::ranges::sort(distances);
  const auto wanted = std::ceil((static_cast<double>(distances.size()) + 1) * (1 - share) - 1e-9);
  return distances[std::min(distances.size(), static_cast<std::size_t>(std::max(1.0, wanted))) - 1];
}

double area_under_roc(const std::vector<float>& known, const std::vector<float>& unlike) {
  std::vector<float> sorted = known;
  std::ranges::sort(sorted);
  double pairs = 0;
  for (const float distance : unlike) {
    const auto [low, high] = std::ranges::equal_range(sorted, distance);
    pairs += static_cast<double>(low - sorted.begin()) + static_cast<double>(high - low) / 2;
  }
  return pairs / (static_cast<double>(known.size()) * static_cast<double>(unlike.size()));
}

double false_positives_at_95(const std::vector<float>& known, const std::vector<float>& unlike) {
  std::vector<float> sorted = known;
  std::ranges::sort(sorted);
  const auto within = static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(sorted.size()) - 1e-9));
  const float limit = sorted[std::max<std::size_t>(within, 1) - 1];
  const auto passed = std::ranges::count_if(unlike, [&](float distance) { return distance <= limit; });
  return static_cast<double>(passed) / static_cast<double>(unlike.size());
}

}  // namespace evener::inference
