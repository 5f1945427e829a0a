#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "base/plural.h"
#include "infer/run/layer_table.h"
#include "record/metric.h"
#include "record/statistics.h"
#include "train/training.h"

namespace evener::training {
namespace {

/// Empty for a loss that was not finite.
std::string loss_text(const std::optional<double>& loss) {
  return loss ? fmt::format(", loss {:.6f}", *loss) : "";
}

/// The confidence interval of an accuracy on few images: "; of 4 images: 40 to 100 % (95 %)". Empty for many images.
std::string doubt_text(const std::optional<double>& accuracy, const std::optional<std::int64_t>& images) {
  if (!accuracy || !images || *images >= static_cast<std::int64_t>(record::kFewJudged)) return "";
  return fmt::format("; of {}, so that it may be {} (95 %)", counted(*images, "image"),
                     record::share_interval_text(*accuracy, *images));
}

/// The median speed with its spread, and a note where the mean speed differs from it.
void add_speed(const record::Record& record, std::string& text) {
  const std::vector<record::Metric> metrics = record::metrics_of(record);
  const record::Metric* speed = record::main_speed(metrics);
  if (speed == nullptr || !speed->value) return;
  text +=
      fmt::format("training speed            {} images/s ({})\n", si_text(*speed->value), record::spread_text(*speed));
  if (const std::string note = record::speed_note(record); !note.empty()) text += fmt::format("  note: {}\n", note);
}

/// The precisions of a detector, which has no accuracy.
void add_box_precision(const record::Record& record, std::string& text) {
  const std::vector<record::Metric> metrics = record::metrics_of(record);
  for (const auto& [part, title] : {std::pair{"val", "best validation mAP@0.5"}, std::pair{"test", "test mAP@0.5"}}) {
    const record::Metric* at_half = record::find_metric(metrics, part + std::string("_map_50"));
    const record::Metric* all = record::find_metric(metrics, part + std::string("_map"));
    if (at_half == nullptr || !at_half->value) continue;
    text += fmt::format("{:<26}{:.4f}{}\n", title, *at_half->value,
                        all != nullptr && all->value ? fmt::format(" (mAP@0.5:0.95 {:.4f})", *all->value) : "");
  }
}

}  // namespace

std::string training_text(const record::Record& record) {
  const record::Accuracy& accuracy = record.training.accuracy;
  const std::string val_doubt = doubt_text(accuracy.val, record.data.val),
                    test_doubt = doubt_text(accuracy.test, record.data.test);
  std::string text = inference::layers_text(record);
  if (accuracy.val && accuracy.val_epoch) {
    text += fmt::format("{} {:.2f} % (epoch {}){}\n",
                        val_doubt.empty() ? "best validation accuracy " : "validation accuracy      ",
                        100 * *accuracy.val, *accuracy.val_epoch, val_doubt);
  } else if (accuracy.val) {
    text += fmt::format("validation accuracy       {:.2f} %{}{}\n", 100 * *accuracy.val, loss_text(accuracy.val_loss),
                        val_doubt);
  }
  if (accuracy.test) {
    text += fmt::format("test accuracy             {:.2f} % ({} weights){}{}\n", 100 * *accuracy.test,
                        accuracy.test_weights, loss_text(accuracy.test_loss), test_doubt);
  }
  add_box_precision(record, text);
  add_speed(record, text);
  if (record.times.total) {
    const std::size_t sessions = record.sessions.size();
    text += fmt::format("time                      {}{}\n", duration_text(*record.times.total),
                        sessions > 1 ? fmt::format(" in {} sessions", sessions) : "");
  }
  if (record.memory.peak_rss_bytes)
    text += fmt::format("peak memory               {}\n", bytes_text(*record.memory.peak_rss_bytes));
  if (const std::string energy = record::energy_text(record); !energy.empty()) {
    text += fmt::format("energy                    {}\n", energy);
  }
  for (const std::string& sentence : record.warnings) text += fmt::format("warning                   {}\n", sentence);
  if (record.validity.valid == false) {
    std::string rules;
    for (const auto& reason : record.validity.reasons) rules += (rules.empty() ? "" : ", ") + reason.rule;
    text += fmt::format("times                     not to be quoted ({}); record.json says why\n", rules);
  }
  return text;
}

}  // namespace evener::training
