#include "train/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "base/names.h"
#include "base/plural.h"
#include "record/record_kind.h"
#include "record/statistics.h"

namespace evener::training {
namespace {

constexpr double kLogLine_s = 60;  // where lines stay, within long epochs
constexpr int kListedFiles = 5;

/// " accuracy 97.2 %"; for a detector the terms of its loss; then further figures: " mAP@0.5 0.713".
std::string part_quality_text(const record::EpochRecord& epoch, const std::string& part,
                              std::optional<double> accuracy) {
  const auto figure = [&](const char* name) {
    const auto found = epoch.figures.find(part + "_" + name);
    return found == epoch.figures.end() ? std::nullopt : std::optional(found->second);
  };
  std::string text = accuracy ? fmt::format("  accuracy {:.1f} %", 100 * *accuracy) : "";
  const auto boxes = figure("box_loss"), classes = figure("class_loss");
  if (boxes && classes) text += fmt::format(" (boxes {:.3f}, classes {:.3f})", *boxes, *classes);
  for (const record::EpochFigure& each : record::kEpochFigures) {
    const auto value = figure(each.name);
    if (each.as_epochs_end && value) text += fmt::format("  {} {:.3f}", each.label, *value);
  }
  return text;
}

}  // namespace

TrainProgress::TrainProgress(int epochs, bool quiet) : epochs_(epochs), line_(quiet) {}

void TrainProgress::loading(LoadingStep step, std::size_t done, std::size_t images) {
  const bool decodes = step == LoadingStep::kDecode;
  loading_.update(decodes ? "reading images" : "taking the mean of the training images", done, images);
}

void TrainProgress::setup(const TrainSetup& setup) {
  epochs_ = setup.epochs;
  note(setup_text(setup));
  if (!setup.skipped.empty()) {
    note(counted(setup.skipped.size(), "file") + " left out:");
    for (std::size_t i = 0; i < setup.skipped.size() && i < kListedFiles; ++i) {
      note(fmt::format("  {}: {}", setup.skipped[i].file, setup.skipped[i].reason));
    }
    if (setup.skipped.size() > kListedFiles) note("  ... ('evener data info' lists all)");
  }
  for (const auto& text : setup.notes) note(text);
  if (setup.resumed_epoch > 0 || setup.resumed_step > 0) {
    note(fmt::format("going on after epoch {}, step {} of {}", setup.resumed_epoch, setup.resumed_step,
                     setup.steps_per_epoch));
  }
  names_best_ = setup.val_images >= record::kFewJudged;
  epoch_end_s_ = now_s();
}

double TrainProgress::seconds_left(const StepProgress& progress) const {
  const double images_per_s = static_cast<double>(progress.images) / std::max(progress.epoch_seconds, 1e-9);
  const double images_per_step =
      static_cast<double>(progress.images) / static_cast<double>(std::max<std::int64_t>(1, progress.step));
  const double steps = static_cast<double>(progress.steps_per_epoch) * (epochs_ - progress.epoch + 1) -
                       static_cast<double>(progress.step);
  return steps * images_per_step / std::max(images_per_s, 1e-9) + overhead_s_ * (epochs_ - progress.epoch + 1);
}

std::string TrainProgress::text_of(const StepProgress& progress) const {
  const double share = static_cast<double>(progress.step) / static_cast<double>(progress.steps_per_epoch);
  std::string quality;
  if (progress.accuracy) quality = fmt::format("  accuracy {:.1f} %", 100 * *progress.accuracy);
  if (progress.box_loss && progress.class_loss) {
    quality = fmt::format(" (boxes {:.3f}, classes {:.3f})", *progress.box_loss, *progress.class_loss);
  }
  return fmt::format("epoch {}/{} {} {:3.0f} %  {} img/s  loss {:.4f}{}  {} left", progress.epoch, epochs_,
                     measure::progress_bar(share), 100 * share,
                     si_text(static_cast<double>(progress.images) / std::max(progress.epoch_seconds, 1e-9)),
                     progress.loss, quality, measure::time_left_text(seconds_left(progress)));
}

void TrainProgress::step(const StepProgress& progress) {
  if (!pace_) pace_.emplace(line_.redraws() ? 0 : now_s());  // lines that stay don't begin with the first step
  if (!pace_->is_due(line_, kLogLine_s)) return;
  line_.show(text_of(progress));
}

void TrainProgress::epoch(const record::EpochRecord& epoch) {
  const double now = now_s();
  overhead_s_ = std::max(0.0, now - epoch_end_s_ - *epoch.seconds);
  epoch_end_s_ = now;
  const std::string speed = si_text(epoch.images_per_s.value_or(0)) + " img/s";
  std::string text = fmt::format("epoch {}/{}  {}  {}  train loss {:.4f}{}", epoch.epoch, epochs_,
                                 duration_text(*epoch.seconds), epoch.head_only ? "linear probing" : speed,
                                 *epoch.train_loss, part_quality_text(epoch, "train", epoch.train_accuracy));
  if (epoch.val_loss) {
    text +=
        fmt::format("  validation loss {:.4f}{}{}", *epoch.val_loss,
                    part_quality_text(epoch, "val", epoch.val_accuracy), epoch.best && names_best_ ? "  (best)" : "");
  }
  note(text);
}

}  // namespace evener::training
