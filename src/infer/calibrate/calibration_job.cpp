#include "infer/calibrate/calibration_job.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/folder_lock.h"
#include "base/forked.h"
#include "base/stop.h"
#include "base/terminal_text.h"
#include "data/open/pictures.h"
#include "infer/calibrate/calibrate.h"
#include "infer/model/cache_folder.h"
#include "infer/session/images.h"
#include "infer/session/options.h"
#include "infer/session/session.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

/// The samples of each part of labelled data; null where it has none.
struct PartSamples {
  PartSamples(const data::OpenedData& opened, const std::vector<std::int32_t>& classes)
      : train(part(opened, opened.split.train, classes)),
        validation(part(opened, opened.split.val, classes)),
        test(part(opened, opened.split.test, classes)) {}

  CalibrationImages images() const {
    return {.train = train.get(), .validation = validation.get(), .test = test.get()};
  }

  std::unique_ptr<data::Samples> train, validation, test;

 private:
  static std::unique_ptr<data::Samples> part(const data::OpenedData& opened, const std::vector<std::uint32_t>& indices,
                                             const std::vector<std::int32_t>& classes) {
    return indices.empty() ? nullptr : data::dataset_samples(opened.dataset, indices, classes);
  }
};

/// Before the work, and not only at its end.
void require_writable(const fs::path& weights) {
  if (weights.empty()) {
    throw UsageError(
        "there are no weights to calibrate: name the folder of a training, a file of a network, or one of the zoo with "
        "--weights FILE");
  }
  require_writable_directory(weights.has_parent_path() ? weights.parent_path() : ".");
}

void write_all(const fs::path& weights, const fs::path& run, const CalibrationOutcome& outcome) {
  write_calibration(weights, outcome.calibration);
  if (!run.empty()) record::write_calibration_record(run / record::kCalibrationFile, outcome.record);
}

InferenceRequest uncalibrated_request(InferenceRequest request) {
  request.calibrated = false;
  request.features_if_any = true;
  return request;
}

/// A session of `evener calibrate`.
class CalibrationSession {
 public:
  CalibrationSession(const CalibrateFlags& flags, measure::Observer& observer)
      : flags_(flags),
        line_(observer),
        session_(flags.placement, uncalibrated_request(flags.model.request(false, 1))),
        model_(session_.network()) {
    require_usable();
  }

  CalibratedNetwork run() {
    const bool has_record = !model_.run().empty() && fs::exists(model_.run() / "record.json");
    const fs::path run = has_record ? model_.run() : fs::path();
    std::optional<FolderLock> lock;
    if (!run.empty() && lock.emplace(run).found() == LockState::kHeld) {
      throw UsageError(
          fmt::format("another process writes to '{}', such as its training: wait for its end", run.string()));
    }
    for (const std::string& note : model_.notes()) line_.note("note: " + note);
    const RunConfig config(run);
    const std::string location = flags_.data.data->empty() ? own_data(config) : *flags_.data.data;
    if (location.empty()) {
      throw UsageError("--data has to name labelled images, of which some were not trained on");
    }
    const data::OpenedData opened = opened_data(location, config, model_.weights());
    for (const std::string& note : opened.notes) line_.note("note: " + note);
    const auto classes = class_numbers(opened.dataset->classes(), model_, location);
    if (!classes) {
      throw UsageError(fmt::format("the classes of '{}' are not those that {} knows", location, model_.name()));
    }
    const PartSamples parts(opened, *classes);
    CalibrationImages images = parts.images();
    if (!too_few_to_calibrate(opened.split.val.size(), "").empty()) {
      images.more = more_images(opened, location, config);
    }
    std::unique_ptr<data::Samples> unlike;
    if (!flags_.data.unlike->empty()) {
      unlike = data::picture_samples(data::Pictures(*flags_.data.unlike), flags_.model.preprocessing(model_));
      images.unlike = unlike.get();
      images.unlike_location = fmt::format("{}", fmt::join(*flags_.data.unlike, data::kLocationJoint));
    }
    const CalibrationOutcome outcome = calibrate(model_, images, options());
    line_.finish();
    if (stop_requested()) throw Interrupted("interrupted: nothing was written");
    write_all(model_.weights(), run, outcome);
    if (!run.empty()) {
      record::Record record = record::read_record(run);
      record::add_calibration(outcome.record, record);
      record::write_record(run, record);
    }
    return {outcome.record, calibration_file(model_.weights())};
  }

 private:
  void require_usable() const {
    require_writable(model_.weights());
    if (const std::string why = model_.no_classes(); !why.empty()) throw UsageError(why);
    if (!model_.takes_images())
      throw UsageError("'" + model_.name() + "' takes no images, so it can't be calibrated here");
  }

  /// How to get more images to validate on than `opened` has.
  std::string more_images(const data::OpenedData& opened, const std::string& location, const RunConfig& config) const {
    const data::OpenedData anew = opened_data(location, config, /*weights=*/{});
    const std::int64_t seed = flags_.data.seed->value_or(config.get<std::int64_t>("seed").value_or(1));
    const std::string more = data::more_to_validate(anew, kFewestCalibrationImages, static_cast<std::uint64_t>(seed));
    const bool was_trained_on =
        data::are_same_locations(config.data_location(), location) || opened.came_divided != anew.came_divided;
    return was_trained_on ? "name others with --data, or train on this data anew: " + more : more;
  }

  data::OpenedData opened_data(const std::string& location, const RunConfig& config, const fs::path& weights) const {
    const LabelledDataRequest request{.location = location,
                                      .weights = weights,
                                      .split = *flags_.data.split,
                                      .seed = *flags_.data.seed,
                                      .threads = session_.threads()};
    data::OpenedData opened = open_labelled_data(request, flags_.model.preprocessing(model_), config);
    if (opened.dataset->target_kind() != data::TargetKind::kClasses) {
      throw UsageError(fmt::format("'{}' has boxes, not a class for each image", location));
    }
    return opened;
  }

  CalibrationOptions options() const {
    CalibrationOptions options{.infer = flags_.placement.infer_options(session_.plan(), session_.precision()),
                               .unknown_share = *flags_.data.unknown,
                               .most_images = static_cast<std::size_t>(*flags_.data.images),
                               .tell = [this](const std::string& what) { line_.show(what); }};
    options.infer.reading_threads = session_.threads();
    options.infer.cache = compile_cache();
    return options;
  }

  const CalibrateFlags& flags_;
  measure::Observer& line_;
  const InferenceSession session_;
  const InferenceModel& model_;
};

}  // namespace

OptionSet CalibrateFlags::options() {
  OptionSet all{&model, &data, &placement, &output};
  all.leave_out([&](const OptionBase& option) { return &option == &model.uncalibrated || &option == &model.decoder; });
  return all;
}

void complete(CalibrateFlags& flags, measure::Observer* observer) {
  complete(flags.model, observer);
}

CalibratedNetwork calibrate(const CalibrateFlags& flags, measure::Observer& observer, const StopFlag* stop) {
  const WorkScope scope(this_work_until(stop));
  return CalibrationSession(flags, observer).run();
}

void calibrate_run(const InferenceRequest& network, const data::OpenedData& data,
                   const std::vector<std::int32_t>& classes, double unknown_share, record::Record& record,
                   measure::Observer& observer) {
  observer.show("calibrating");
  const std::string text = answer_in_child([&] {
    const InferenceModel model(uncalibrated_request(network));
    const InferPlacementFlags placement;
    CalibrationOptions options{.infer = placement.infer_options(placement.plan(), Precision::kFp32),
                               .unknown_share = unknown_share};
    options.infer.reading_threads = usable_cpus();
    const CalibrationOutcome outcome = calibrate(model, PartSamples(data, classes).images(), options);
    write_all(model.weights(), network.model.model, outcome);
    return record::calibration_text(outcome.record);
  });
  observer.finish();
  const record::CalibrationRecord figures = record::calibration_from_text(text, "the calibration");
  record::add_calibration(figures, record);
  for (const std::string& sentence : record::calibration_sentences(figures)) observer.note(sentence);
}

void calibrate_training(const fs::path& folder, const data::OpenedData& data, std::uint64_t seed, double unknown_share,
                        record::Record& record, measure::Observer& observer) {
  const auto note_why_not = [&](const std::string& why) {
    record.notes.push_back(fmt::format("{}: {}", record::kUncalibratedNote, why));
    observer.note("note: " + record.notes.back());
  };
  try {
    const std::size_t validated = data.split.val.size();
    if (too_few_to_calibrate(validated, "").empty()) {
      calibrate_run({.model = {.model = folder.string()}}, data, {}, unknown_share, record, observer);
    } else {
      note_why_not(too_few_to_calibrate(validated, data::more_to_validate(data, kFewestCalibrationImages, seed)));
    }
  } catch (const Interrupted&) {
    observer.finish();
    observer.note("note: the probabilities were not calibrated before the end; evener calibrate " +
                  shell_word(folder.string()) + " does so");
    return;
  } catch (const Error& error) {
    observer.finish();
    note_why_not(error.what());
  }
  record::write_record(folder, record);
}

}  // namespace evener::inference
