#include "quantize/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/names.h"
#include "base/plural.h"
#include "base/statistics.h"
#include "record/metric.h"
#include "record/statistics.h"
#include "report/format.h"

namespace evener::quantization {
namespace {

using record::Better;
using record::Metric;
using record::MetricRole;

constexpr std::size_t kWorstShown = 5;

std::optional<double> accuracy(const RunFigures& figures) {
  if (figures.labelled == 0) return std::nullopt;
  return static_cast<double>(figures.correct) / static_cast<double>(figures.labelled);
}

/// The share of images for which both networks found the same class.
std::optional<double> agreement(const QuantizeComparison& comparison) {
  const auto &before = comparison.before.classes, &after = comparison.after.classes;
  if (before.empty() || before.size() != after.size()) return std::nullopt;
  std::int64_t same = 0, answered = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] < 0 || after[i] < 0) continue;
    ++answered;
    same += before[i] == after[i] ? 1 : 0;
  }
  if (answered == 0) return std::nullopt;
  return static_cast<double>(same) / static_cast<double>(answered);
}

std::string row(const char* what, const std::string& before, const std::string& after, const std::string& change) {
  return fmt::format("{:<22}{:>14}{:>14}  {}\n", what, before, after, change);
}

std::string ratio_text(double before, double after) {
  return before > 0 && after > 0 ? fmt::format("{:.2f}x", after / before) : "";
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f} %", 100 * *share) : "unknown";
}

/// Of the whole machine, its idle power included.
std::optional<double> joules_per_image(const RunFigures& figures) {
  return record::per_image(figures.power_w, median(figures.rates).value_or(0));
}

std::string no_energy(const QuantizeComparison& comparison) {
  return comparison.no_power.empty() ? "it was measured for less than a second: give --seconds 2" : comparison.no_power;
}

std::string energy_row(const QuantizeComparison& c) {
  const std::optional<double> before = joules_per_image(c.before), after = joules_per_image(c.after);
  if (!before || !after) return row("energy of one image", "unknown", "unknown", no_energy(c));
  return row("energy of one image", si_text(*before) + "J", si_text(*after) + "J", ratio_text(*before, *after));
}

double share_of_engines(const EngineAgreement& engines) {
  return static_cast<double>(engines.same) / static_cast<double>(engines.images);
}

/// A sentence on how well fake quantisation in training agrees with the int8 kernels.
std::string engines_row(const QuantizeComparison& c) {
  if (!c.engines || c.engines->images == 0) return "";
  std::string words = fmt::format("of {} images: LibTorch's fake quantisation, and int8", c.engines->images);
  if (c.engines->widest_gap && c.engines->usual_gap) {
    words += fmt::format("; where not, the two highest scores lie up to {:.2g} steps apart (usually {:.2g})",
                         *c.engines->widest_gap, *c.engines->usual_gap);
  }
  return row("same as in training", "", percent(share_of_engines(*c.engines)), words);
}

constexpr auto kFew = static_cast<std::int64_t>(record::kFewJudged);

/// The change of an accuracy, with a note where there are too few images to tell.
std::string change_text(double before, double after, std::int64_t images) {
  if (images >= kFew) return fmt::format("{:+.2f} points of {} images", 100 * (after - before), images);
  return fmt::format("of {}, too few to tell a change: before {}, after {} (95 %)", counted(images, "image"),
                     record::share_interval_text(before, images), record::share_interval_text(after, images));
}

std::string precision_row(const char* what, const std::optional<double>& before, const std::optional<double>& after,
                          std::int64_t images) {
  if (!before || !after) return "";
  return row(what, percent(before), percent(after),
             images < kFew ? fmt::format("of {}, too few to tell a change", counted(images, "image"))
                           : fmt::format("{:+.2f} points of {} images", 100 * (*after - *before), images));
}

std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.3g} ms", 1e3 * *seconds) : "unknown";
}

void add_run(const std::string& prefix, const std::string& of, const RunFigures& figures, const std::string& no_energy,
             record::Record& record) {
  const auto add = [&](Metric metric) {
    metric.name = prefix + metric.name;
    if (!prefix.empty()) metric.title.clear();
    metric.label += of;
    record::add_metric(record, std::move(metric));
  };
  const auto add_median = [&](const char* name, const char* unit, const char* label, Better better, MetricRole role,
                              const std::vector<double>& samples, const char* over) {
    add({.name = name,
         .unit = unit,
         .title = label,
         .label = label,
         .better = better,
         .role = role,
         .value = median(samples),
         .samples = samples,
         .interval = record::median_interval(samples),
         .over = over,
         .reason = samples.empty() ? "it was not measured" : ""});
  };
  add_median("network_images_per_s", "images/s", "network/s", Better::kHigher, MetricRole::kSpeed, figures.rates,
             "blocks of calls");
  add_median("latency_s", "s", "latency", Better::kLower, MetricRole::kCost, figures.latencies_s,
             "calls with one image");
  add({.name = "memory_bytes",
       .unit = "bytes",
       .title = "memory",
       .label = "memory of the network",
       .better = Better::kLower,
       .value = static_cast<double>(figures.memory_bytes)});
  const std::optional<double> joules = joules_per_image(figures);
  add({.name = "energy_per_image_j",
       .unit = "J",
       .title = "energy",
       .label = "energy of one image, whole machine",
       .better = Better::kLower,
       .value = joules,
       .reason = joules ? "" : no_energy});
  const auto add_precision = [&](const char* name, const char* title, const std::optional<double>& value) {
    if (value) add(record::quality_share(name, title, title, value, figures.images));
  };
  add_precision("map_50", "mAP@0.5", figures.ap_50);
  add_precision("map", "mAP@0.5:0.95", figures.ap);
}

}  // namespace

std::string quantization_warning(const QuantizeComparison& c, const std::string& remedy) {
  constexpr double kMostOfMap = 0.05, kLeastSame = 0.9;  // of images with the same class
  const auto text = [&](const char* what, std::int64_t images, double before, double after) {
    return fmt::format("int8 loses much: {} is {:.4g} % of {}, and was {:.4g} % in float: {}", what, 100 * after,
                       counted(images, "image"), 100 * before, remedy);
  };
  if (const auto before = accuracy(c.before), after = accuracy(c.after); before && after) {
    const bool fell = record::share_fell(*before, c.before.labelled, *after, c.after.labelled);
    return fell ? text("the accuracy", c.after.labelled, *before, *after) : "";
  }
  if (c.before.ap_50 && c.after.ap_50) {
    const bool fell = *c.before.ap_50 - *c.after.ap_50 > kMostOfMap;
    return fell ? text("mAP@0.5", c.after.images, *c.before.ap_50, *c.after.ap_50) : "";
  }
  const auto boxes = boxes_agree(c.before, c.after);
  const auto same = boxes || !c.classes_known ? boxes : agreement(c);
  return same && *same < kLeastSame ? text("what both find alike", c.after.images, 1, *same) : "";
}

std::string comparison_text(const QuantizeComparison& c) {
  std::string text = row("", "before", "after", "");
  text += row("weights", bytes_text(c.float_bytes), bytes_text(c.file_bytes),
              ratio_text(static_cast<double>(c.float_bytes), static_cast<double>(c.file_bytes)));
  if (c.after.images > 0) {
    if (const auto before = accuracy(c.before), after = accuracy(c.after); before && after) {
      text += row("accuracy", fmt::format("{:.2f} %", 100 * *before), fmt::format("{:.2f} %", 100 * *after),
                  change_text(*before, *after, c.after.labelled));
    }
    text += precision_row("mAP@0.5", c.before.ap_50, c.after.ap_50, c.after.images);
    text += precision_row("mAP@0.5:0.95", c.before.ap, c.after.ap, c.after.images);
    if (const auto same = boxes_agree(c.before, c.after); same && !c.after.ap_50) {
      text += row("same boxes", "", percent(same), "mAP@0.5, were those of float the right ones");
    }
    if (const auto same = agreement(c)) {
      text += row(c.classes_known ? "same class" : "same largest output", "", percent(same), "");
    }
    text += engines_row(c);
    const auto before_s = median(c.before.latencies_s), after_s = median(c.after.latencies_s);
    text += row("latency of one image", milliseconds(before_s), milliseconds(after_s),
                ratio_text(before_s.value_or(0), after_s.value_or(0)));
    const auto before = median(c.before.rates), after = median(c.after.rates);
    text += row("images/s", before ? si_text(*before) : "unknown", after ? si_text(*after) : "unknown",
                ratio_text(before.value_or(0), after.value_or(0)));
    text += row("memory", bytes_text(c.before.memory_bytes), bytes_text(c.after.memory_bytes), "");
    text += energy_row(c);
    const Int8Layers layers = int8_layers(c.after.executed);
    if (layers.all > 0) text += row("computed in int8", "", fmt::format("{} of {}", layers.int8, layers.all), "layers");
  }
  std::vector<LayerError> worst;
  for (const auto& layer : c.layers) {
    if (std::isfinite(layer.sqnr_db)) worst.push_back(layer);
  }
  std::ranges::sort(worst, {}, &LayerError::sqnr_db);
  if (worst.size() > kWorstShown) worst.resize(kWorstShown);
  if (!worst.empty()) text += "largest errors (signal to quantisation noise)\n";
  for (const auto& layer : worst) {
    text += fmt::format("  {:<40}{:>8.1f} dB{}\n", layer.layer, layer.sqnr_db, layer.quantized ? "" : "  (in float)");
  }
  return text;
}

std::string layers_csv(const std::vector<LayerError>& layers) {
  std::string text = "layer,quantized,sqnr_db\n";
  for (const auto& layer : layers) {
    text += fmt::format("{},{},{}\n", report::csv_cell(layer.layer), layer.quantized ? 1 : 0,
                        std::isfinite(layer.sqnr_db) ? fmt::format("{:.3f}", layer.sqnr_db) : "");
  }
  return text;
}

void fill_quantize_metrics(const QuantizeComparison& c, record::Record& record) {
  const auto bytes = [&](const char* name, const char* title, const char* label, std::uint64_t value) {
    record::add_metric(record, {.name = name,
                                .unit = "bytes",
                                .title = title,
                                .label = label,
                                .better = Better::kLower,
                                .value = static_cast<double>(value)});
  };
  bytes("weights_bytes", "weights", "size of the weights", c.file_bytes);
  bytes("float_weights_bytes", "", "size of the weights in float32", c.float_bytes);
  if (c.after.images > 0) {
    add_run("", "", c.after, no_energy(c), record);
    add_run("float_", " in float", c.before, no_energy(c), record);
    const Int8Layers layers = int8_layers(c.after.executed);
    record::add_metric(record, record::plain_number("int8_layers", "int8 layers", "layers computed in int8",
                                                    static_cast<double>(layers.int8)));
    const auto add_share = [&](const char* name, const char* title, const char* label, std::optional<double> value,
                               std::int64_t of_images) {
      record::add_metric(record, record::quality_share(name, title, label, value, of_images));
    };
    if (c.after.labelled > 0) {
      add_share("accuracy", "accuracy", "accuracy", accuracy(c.after), c.after.labelled);
      add_share("float_accuracy", "float", "accuracy in float", accuracy(c.before), c.before.labelled);
    }
    if (const auto same = boxes_agree(c.before, c.after); same && !c.after.ap_50) {
      add_share("same_boxes", "same boxes", "mAP@0.5, were the boxes of float the right ones", same, c.after.images);
    }
    if (const auto same = agreement(c)) {
      add_share(
          "same_class", c.classes_known ? "same class" : "same output",
          c.classes_known ? "images of the same class as in float" : "images with the same largest output as in float",
          same, c.after.images);
    }
  }
  if (c.engines && c.engines->images > 0) {
    const char* const label = "images of the same class with fake quantisation in LibTorch and in int8";
    record::add_metric(record,
                       record::quality_share("same_class_as_in_training", "", label, share_of_engines(*c.engines),
                                             static_cast<std::int64_t>(c.engines->images)));
    if (c.engines->widest_gap) {
      record::add_metric(record, {.name = "widest_tie_steps",
                                  .unit = "steps",
                                  .title = "",
                                  .label = "widest gap of the two highest scores where these classes differ",
                                  .better = Better::kLower,
                                  .value = *c.engines->widest_gap});
    }
  }
  if (!c.layers.empty() && std::isfinite(c.layers.back().sqnr_db)) {
    record::add_metric(record, {.name = "last_layer_sqnr_db",
                                .unit = "dB",
                                .title = "SQNR",
                                .label = "signal to quantisation noise of the last layer",
                                .role = MetricRole::kQuality,
                                .value = c.layers.back().sqnr_db});
  }
}

}  // namespace evener::quantization
