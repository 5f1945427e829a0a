#include "infer/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/plural.h"
#include "base/random.h"
#include "base/stop.h"
#include "infer/calibrate/calibration_error.h"
#include "infer/run/feature_fit.h"

namespace evener::inference {
namespace {

/// At most so many samples, drawn by chance but always the same: evenly spread ones of a listing in which the classes
/// take turns might be of one class.
class DrawnSamples : public data::Samples {
 public:
  DrawnSamples(const data::Samples& all, std::size_t most)
      : all_(all),
        places_(permutation(static_cast<std::uint32_t>(all.size()), Random(1, Purpose::kOrder, all.size()))) {
    places_.resize(std::min(all.size(), most));
    std::ranges::sort(places_);  // files are read in their order
  }

  std::size_t size() const override { return places_.size(); }
  const std::vector<std::int64_t>& shape() const override { return all_.shape(); }
  bool is_bytes() const override { return all_.is_bytes(); }
  std::string name(std::size_t index) const override { return all_.name(places_.at(index)); }
  std::optional<std::int32_t> label(std::size_t index) const override { return all_.label(places_.at(index)); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override { all_.read(places_.at(index), values); }
  void read(std::size_t index, std::span<float> values) const override { all_.read(places_.at(index), values); }

 private:
  const data::Samples& all_;
  std::vector<std::uint32_t> places_;
};

/// What the network said of the images of a part.
struct Answers {
  LogitTable logits;
  std::vector<float> features;  // (images, features); empty = the network gives none
};

class Calibrating {
 public:
  Calibrating(const InferenceModel& model, const CalibrationImages& images, const CalibrationOptions& options)
      : model_(model), images_(images), options_(options) {
    const std::size_t validation = images.validation == nullptr ? 0 : images.validation->size();
    if (!model.no_classes().empty()) throw UsageError(model.no_classes());
    require_enough(validation);
  }

  CalibrationOutcome run() {
    const Answers validation = answers_of(*images_.validation, "validation");
    require_enough(validation.logits.images());
    const std::optional<Answers> test = test_answers();
    found_.calibration.temperature = fit_temperature(validation.logits);
    record().temperature = found_.calibration.temperature;
    record().fitted_images = static_cast<std::int64_t>(validation.logits.images());
    judge_probabilities(validation, test);
    record().unknown_wanted = options_.unknown_share;
    record().no_unknown = why_no_unknown();
    if (record().no_unknown.empty()) fit_unknown(validation, test);
    return std::move(found_);
  }

 private:
  record::CalibrationRecord& record() { return found_.record; }

  void require_enough(std::size_t validation) const {
    if (const std::string why = too_few_to_calibrate(validation, images_.more); !why.empty()) throw Error(why);
  }

  Answers answers_of(const data::Samples& all, const char* part, bool labelled = true) {
    const DrawnSamples samples(all, options_.most_images);
    if (options_.tell)
      options_.tell(fmt::format("calibrating: {} of the {} part", counted(samples.size(), "image"), part));
    if (!job_) {  // as `evener infer` chooses by itself for many images
      InferOptions infer = options_.infer;
      infer.repeated = infer.usual_engine = true;
      job_.emplace(model_, samples, std::move(infer));
    }
    Answers answers;
    job_->run(samples, [&](const Prediction& prediction) {
      const auto scores = prediction.outputs.at(model_.main_output());
      const std::int32_t label = labelled ? samples.label(prediction.index).value_or(-1) : 0;
      const bool are_finite = std::ranges::all_of(scores, [](float score) { return std::isfinite(score); });
      if (label < 0 || std::cmp_greater_equal(label, scores.size()) || !are_finite) return;
      LogitTable& table = answers.logits;
      table.classes = scores.size();
      constexpr float kLeast = 1e-12F;
      const bool are_logits = !are_probabilities(scores, model_.holds());
      for (const float score : scores) table.logits.push_back(are_logits ? score : std::log(std::max(score, kLeast)));
      table.labels.push_back(label);
      const auto features = prediction.outputs.find(kFeaturesOutput);
      if (features == prediction.outputs.end()) return;
      answers.features.insert(answers.features.end(), features->second.begin(), features->second.end());
    });
    return answers;
  }

  std::optional<Answers> test_answers() {
    if (images_.test == nullptr || images_.test->size() < kFewestCalibrationImages) return std::nullopt;
    Answers answers = answers_of(*images_.test, "test");
    if (answers.logits.images() < kFewestCalibrationImages) return std::nullopt;
    return answers;
  }

  /// The validation images in two halves, chosen by chance but always the same.
  static std::pair<std::vector<std::uint32_t>, std::vector<std::uint32_t>> halves(std::size_t images) {
    const std::vector<std::uint32_t> order =
        permutation(static_cast<std::uint32_t>(images), Random(1, Purpose::kSplit, images));
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2);
    return {{order.begin(), middle}, {middle, order.end()}};
  }

  void judge_probabilities(const Answers& validation, const std::optional<Answers>& test) {
    std::vector<JudgedAnswer> before, after;
    double likelihood_before = 0, likelihood_after = 0;
    const auto judge = [&](const LogitTable& table, double temperature) {
      std::ranges::copy(answers_at(table, 1), std::back_inserter(before));
      std::ranges::copy(answers_at(table, temperature), std::back_inserter(after));
      const auto images = static_cast<double>(table.images());
      likelihood_before += images * negative_log_likelihood(table, 1);
      likelihood_after += images * negative_log_likelihood(table, temperature);
    };
    if (test) {
      record().judged = "test part";
      judge(test->logits, found_.calibration.temperature);
    } else {
      record().judged = "validation part, each half by what the other gave";
      const auto [one, other] = halves(validation.logits.images());
      const LogitTable first = validation.logits.rows(one), second = validation.logits.rows(other);
      judge(first, fit_temperature(second));
      judge(second, fit_temperature(first));
    }
    record().judged_images = static_cast<std::int64_t>(before.size());
    record().before = calibration_error(before);
    record().after = calibration_error(after);
    record().before.negative_log_likelihood = likelihood_before / static_cast<double>(before.size());
    record().after.negative_log_likelihood = likelihood_after / static_cast<double>(before.size());
  }

  std::string why_no_unknown() const {
    constexpr std::size_t kFewestTrained = 20;
    if (options_.unknown_share == 0) return "--unknown 0 asks for that";
    if (!model_.gives_features()) {
      return model_.is_foreign() ? "a file of another program gives no features"
                                 : "the output of " + model_.name() + " is not made by a linear layer";
    }
    const std::int64_t features = element_count(model_.features_shape());
    if (features > kMostFeatures) {
      return fmt::format("the last layer reads {} values, more than {}", features, kMostFeatures);
    }
    const std::size_t trained = images_.train == nullptr ? 0 : images_.train->size();
    if (trained < kFewestTrained) {
      return fmt::format("it takes {} or more images of a training part; there are {}", kFewestTrained, trained);
    }
    return "";
  }

  void fit_unknown(const Answers& validation, const std::optional<Answers>& test) {
    Answers train = answers_of(*images_.train, "training");
    if (train.logits.images() == 0) {
      record().no_unknown = "no image of the training part could be used";
      return;
    }
    record().statistics_images = static_cast<std::int64_t>(train.logits.images());
    if (options_.tell) options_.tell("calibrating: distances of features");
    const auto features = static_cast<std::size_t>(element_count(model_.features_shape()));
    FeatureFit fit;
    try {
      fit = fit_features(
          {.values = features, .features = std::move(train.features), .labels = std::move(train.logits.labels)});
    } catch (const Error& error) {
      record().no_unknown = error.what();
      return;
    }
    const ClassDistance distance(fit.statistics);
    const auto distances_of = [&](const Answers& answers) {
      return distance.of(answers.features.data(), static_cast<std::int64_t>(answers.features.size() / features));
    };
    const std::vector<float> validated = distances_of(validation);
    const std::vector<float> judged = test ? distances_of(*test) : validated;
    fit.statistics.threshold = threshold_of(validated, options_.unknown_share);
    if (!(fit.statistics.threshold > 0)) {
      record().no_unknown = "images to validate on have the features of images that were trained on";
      return;
    }
    record().shrinkage = fit.shrinkage;
    record().known_unknown = test ? share_above(judged, fit.statistics.threshold) : crossed_share(validated);
    if (images_.unlike != nullptr) judge_unlike(distances_of, judged, fit.statistics.threshold);
    found_.calibration.unknown = std::move(fit.statistics);
  }

  static double share_above(const std::vector<float>& distances, double threshold) {
    const auto above = std::ranges::count_if(distances, [&](float distance) { return distance > threshold; });
    return static_cast<double>(above) / static_cast<double>(distances.size());
  }

  /// The share that is unknown where each half has the threshold of the other.
  double crossed_share(const std::vector<float>& distances) const {
    const auto [one, other] = halves(distances.size());
    const auto chosen = [&](const std::vector<std::uint32_t>& images) {
      std::vector<float> some;
      for (const std::uint32_t image : images) some.push_back(distances[image]);
      return some;
    };
    const std::vector<float> first = chosen(one), second = chosen(other);
    const double above =
        share_above(first, threshold_of(second, options_.unknown_share)) * static_cast<double>(first.size()) +
        share_above(second, threshold_of(first, options_.unknown_share)) * static_cast<double>(second.size());
    return above / static_cast<double>(distances.size());
  }

  template <class DistancesOf>
  void judge_unlike(const DistancesOf& distances_of, const std::vector<float>& known, double threshold) {
    const Answers answers = answers_of(*images_.unlike, "unlike", /*labelled=*/false);
    const std::vector<float> unlike = distances_of(answers);
    if (unlike.empty()) return;
    record().unlike = record::UnlikeImages{.location = images_.unlike_location,
                                           .images = static_cast<std::int64_t>(unlike.size()),
                                           .unknown_share = share_above(unlike, threshold),
                                           .auroc = area_under_roc(known, unlike),
                                           .fpr95 = false_positives_at_95(known, unlike)};
  }

  const InferenceModel& model_;
  const CalibrationImages& images_;
  const CalibrationOptions& options_;
  std::optional<InferJob> job_;
  CalibrationOutcome found_;
};

}  // namespace

std::string too_few_to_calibrate(std::size_t validation, const std::string& more) {
  if (validation >= kFewestCalibrationImages) return "";
  return fmt::format(
      "a calibration takes {} or more images to validate on, which the network was not trained on; there are {}{}{}",
      kFewestCalibrationImages, validation, more.empty() ? "" : ": ", more);
}

CalibrationOutcome calibrate(const InferenceModel& model, const CalibrationImages& images,
                             const CalibrationOptions& options) {
  return Calibrating(model, images, options).run();
}

}  // namespace evener::inference
