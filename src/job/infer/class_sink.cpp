#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/base64.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/tensor.h"
#include "base/utf8.h"
#include "data/codecs/colour.h"
#include "data/png_encode.h"
#include "data/resize.h"
#include "engine/best_class.h"
#include "engine/engine.h"
#include "job/infer/infer_sinks.h"
#include "record/detection.h"
#include "task/activation_map.h"
#include "task/training/evaluation.h"

namespace evener::job {
namespace {

constexpr std::int64_t kShownSide = 104;

/// The column of the table beside the likeliest class.
constexpr double kWorthTelling = 0.005;

std::string csv_rows(const std::string& name, const std::vector<task::ClassScore>& top, std::optional<float> unknown,
                     const std::function<std::string(std::size_t)>& class_name) {
  const std::string last = unknown ? fmt::format(",{:.4g}", *unknown) : "";
  std::string rows;
  for (std::size_t rank = 0; rank < top.size(); ++rank) {
    rows += fmt::format("{},{},{},{},{:.6g}{}\n", csv_cell(name), rank + 1, top[rank].index,
                        csv_cell(class_name(top[rank].index)), top[rank].score, last);
  }
  return rows;
}

/// The most images on the page.
constexpr std::size_t kMostShown = 24;

std::span<const Mistake> first_ones(const std::vector<Mistake>& all) {
  return std::span(all).first(std::min(all.size(), kMostShown));
}

/// The name of a score: logit or probability.
std::string score_name(task::OutputType type) {
  return type == task::OutputType::kLogits ? "logit" : "probability";
}

}  // namespace

std::string SmallPicture::text() const {
  return to_base64(data::encode_png(shape, planes));
}

SmallPicture small_picture(const data::Samples& samples, std::size_t index) {
  const auto& shape = samples.shape();
  std::vector<std::uint8_t> values(static_cast<std::size_t>(element_count(shape)));
  samples.read(index, std::span(values));
  data::Picture picture =
      shape[0] == 3 ? data::from_planes(values, shape[1], shape[2]) : data::Picture::unset(1, shape[1], shape[2]);
  if (shape[0] == 1) std::ranges::copy(values, picture.pixels.get());
  const std::int64_t side = std::max(shape[1], shape[2]);
  if (side > kShownSide) {
    const auto scaled = [&](std::int64_t extent) { return std::max<std::int64_t>(1, extent * kShownSide / side); };
    picture = data::resize(std::move(picture), scaled(shape[1]), scaled(shape[2]));
  }
  SmallPicture small{{picture.channels, picture.height, picture.width}, {}};
  small.planes.resize(picture.bytes());
  data::write_planes(picture, picture.channels, small.planes);
  return small;
}

SmallPicture with_map(const SmallPicture& picture, const task::ActivationMap& map) {
  constexpr std::array<double, 3> kOrange = {255, 120, 0};
  constexpr double kMostOpaque = 0.75;
  const std::int64_t height = picture.shape.height, width = picture.shape.width;
  const auto plane = static_cast<std::size_t>(height * width);
  SmallPicture drawn{{3, height, width}, std::vector<std::uint8_t>(3 * plane)};
  for (std::size_t pixel = 0; pixel < plane; ++pixel) {
    double grey = 0;
    for (std::int64_t c = 0; c < picture.shape.channels; ++c) {
      grey += picture.planes[static_cast<std::size_t>(c) * plane + pixel];
    }
    grey /= static_cast<double>(picture.shape.channels);
    const auto at = static_cast<std::int64_t>(pixel);
    const double opaque = kMostOpaque * static_cast<double>(map.at(at / width, at % width, height, width));
    for (std::size_t c = 0; c < 3; ++c) {
      drawn.planes[c * plane + pixel] =
          static_cast<std::uint8_t>(std::lround(grey * (1 - opaque) + kOrange[c] * opaque));
    }
  }
  return drawn;
}

std::optional<float> unknown_of(const task::InferenceModel& network, const task::Prediction& prediction) {
  if (!network.tells_unknown()) return std::nullopt;
  const auto found = prediction.outputs.find(task::kUnknownOutput);
  return found == prediction.outputs.end() || found->second.empty() ? std::nullopt
                                                                    : std::optional(found->second.front());
}

std::string class_name(const task::InferenceModel& network, std::size_t index) {
  return index < network.classes().size() ? network.classes()[index] : fmt::format("class {}", index);
}

ClassSink::ClassSink(const PredictionFlags& flags, const task::InferenceModel& network, const data::Samples& samples,
                     bool labelled, bool are_random, const std::filesystem::path& folder, Observer& observer)
    : flags_(flags), network_(network), samples_(samples), observer_(observer), format_(*flags.format) {
  // Users who give options on what is told of each image want the images to be told.
  const bool wants_each = flags.topk.given() || flags.threshold.given();
  if (format_.empty()) {
    format_ = ((labelled || are_random) && !wants_each) || *flags.json == "-" ? "none" : "table";
  }
  const std::string heading =
      "file,rank,class_index,class_name," + score_name(flags_.type()) + (network.tells_unknown() ? ",unknown" : "");
  if (format_ == "csv") observer_.tell(heading + "\n");
  if (!folder.empty()) {
    csv_.emplace(folder / "predictions.csv", heading);
    const bool are_pictures = samples.is_bytes() && samples.shape().size() == 3 &&
                              (samples.shape().front() == 1 || samples.shape().front() == 3);
    if (are_pictures) shown_path_ = folder / record::kPredictedImages;
    if (labelled) mistakes_path_ = folder / "mistakes.csv";
  }
  const std::size_t classes = network.classes().size();
  if (labelled && task::confusion_classes(classes) > 0) {
    scores_.confusion.assign(classes, std::vector<std::int64_t>(classes));
  }
}

void ClassSink::take(const task::Prediction& prediction) {
  const auto output = prediction.outputs.at(network_.main_output());
  if (const auto label = samples_.label(prediction.index)) score(prediction, output, *label);
  const std::optional<float> unknown = unknown_of(network_, prediction);
  if (unknown) {
    ++unknown_.images;
    unknown_.unknown += is_unknown(unknown) ? 1 : 0;
  }
  if (is_first_ && flags_.topk.given() && static_cast<std::size_t>(*flags_.topk) > output.size()) {
    observer_.note(fmt::format("note: there are {} classes; --topk {} tells all of them", output.size(), *flags_.topk));
  }
  is_first_ = false;
  if (format_ == "none" && !csv_) return;
  auto top = task::top_classes(output, static_cast<std::size_t>(*flags_.topk), flags_.type());
  if (flags_.type() != task::OutputType::kLogits) {
    std::erase_if(top, [&](const task::ClassScore& one) { return one.score < *flags_.threshold; });
  }
  if (!top.empty()) show(prediction, top.front());
  tell(samples_.name(prediction.index), top, unknown);
}

void ClassSink::show(const task::Prediction& prediction, const task::ClassScore& best) {
  const std::size_t one_in = (samples_.size() + kMostShown - 1) / kMostShown;
  if (shown_path_.empty() || prediction.index % one_in != 0 || shown_.size() == kMostShown) return;
  const auto label = samples_.label(prediction.index);
  shown_.push_back({.file = samples_.name(prediction.index),
                    .found = class_name(best.index),
                    .score = best.score,
                    .is_probability = flags_.type() != task::OutputType::kLogits,
                    .truth = label ? class_name(static_cast<std::size_t>(*label)) : "",
                    .png_base64 = small_picture(samples_, prediction.index).text(),
                    .is_unknown = is_unknown(unknown_of(network_, prediction))});
}

void ClassSink::score(const task::Prediction& prediction, std::span<const float> output, std::int32_t label) {
  const auto found = engine::best_class(output.data(), static_cast<std::int64_t>(output.size()));
  ++scores_.images;
  scores_.classes = static_cast<std::int64_t>(output.size());
  scores_.correct += found == label ? 1 : 0;
  const Mistake one{prediction.index,
                    samples_.name(prediction.index),
                    class_name(static_cast<std::size_t>(label)),
                    class_name(static_cast<std::size_t>(found)),
                    static_cast<std::size_t>(found),
                    task::top_classes(output, 1, flags_.type()).front().score};
  if (found != label) {
    scores_.mistakes.push_back(one);
  } else if (!shown_path_.empty()) {
    keep_if_sure(one);
  }
  for (const auto& one : task::top_classes(output, 5, task::OutputType::kLogits)) {
    scores_.correct_in_five += static_cast<std::int32_t>(one.index) == label ? 1 : 0;
  }
  const auto row = static_cast<std::size_t>(label), column = static_cast<std::size_t>(found);
  if (row < scores_.confusion.size() && column < scores_.confusion.size()) ++scores_.confusion[row][column];
}

void ClassSink::tell(const std::string& name, const std::vector<task::ClassScore>& top, std::optional<float> unknown) {
  const auto named = [this](std::size_t index) { return class_name(index); };
  if (csv_) csv_->add(csv_rows(name, top, unknown, named));
  if (format_ == "csv") {
    observer_.tell(csv_rows(name, top, unknown, named));
  } else if (format_ == "jsonl") {
    nlohmann::ordered_json line = {{"file", to_utf8_text(name)}, {"predictions", nlohmann::ordered_json::array()}};
    for (const auto& one : top) {
      line["predictions"].push_back({{"class", to_utf8_text(class_name(one.index))},
                                     {"index", one.index},
                                     {score_name(flags_.type()), one.score}});
    }
    if (unknown) line["unknown"] = *unknown;
    observer_.tell(line.dump() + "\n");
  } else if (format_ == "table") {
    std::string text;
    const bool logits = flags_.type() == task::OutputType::kLogits;
    for (const auto& one : top) {
      if (!text.empty() && !logits && one.score < kWorthTelling) break;
      const std::string score = logits ? fmt::format("{:.4g}", one.score) : fmt::format("{:.1f} %", 100 * one.score);
      text += (text.empty() ? "" : ", ") + printable(class_name(one.index)) + " " + score;
    }
    observer_.tell(
        fmt::format("{}  {}{}\n", printable(name), is_unknown(unknown) ? "unknown: " : "", text.empty() ? "-" : text));
  }
}

void ClassSink::tell_mistakes() {
  std::vector<Mistake>& mistakes = scores_.mistakes;
  std::ranges::stable_sort(mistakes, std::ranges::greater(), &Mistake::score);
  if (!mistakes_path_.empty()) {
    write_file_atomically(mistakes_path_, [&](std::ostream& out) {
      out << "file,true_class,found_class,score\n";
      for (const Mistake& mistake : mistakes) {
        out << fmt::format("{},{},{},{:.6g}\n", csv_cell(mistake.file), csv_cell(mistake.truth),
                           csv_cell(mistake.found), mistake.score);
      }
    });
  }
  if (shown_path_.empty()) return;
  std::ranges::stable_sort(scores_.sure, std::ranges::greater(), &Mistake::score);
  show_labelled(first_ones(mistakes), /*are_right=*/false);
  show_labelled(first_ones(scores_.sure), /*are_right=*/true);
}

std::vector<task::ActivationMap> ClassSink::maps_of(std::span<const Mistake> ones) const {
  if (!flags_.shows_maps || network_.network() == nullptr || ones.empty()) return {};
  const std::optional<task::PooledHead> head = task::pooled_head(*network_.network());
  if (!head) return {};
  std::vector<task::Looked> looked;
  for (const Mistake& one : ones) looked.push_back({one.index, one.found_index});
  const auto engine = engine::open_engine(engine::usual_runner_engine(DeviceKind::kCpu));
  return task::class_maps({*engine, network_.normalization(), usable_cores()}, *network_.network(), *network_.state(),
                          *head, samples_, looked);
}

void ClassSink::show_labelled(std::span<const Mistake> ones, bool are_right) {
  const std::vector<task::ActivationMap> maps = maps_of(ones);
  for (std::size_t i = 0; i < ones.size(); ++i) {
    const Mistake& one = ones[i];
    try {
      const SmallPicture picture = small_picture(samples_, one.index);
      const bool has_map = i < maps.size() && !maps[i].values.empty();
      shown_.push_back({.file = one.file,
                        .found = one.found,
                        .score = one.score,
                        .is_probability = flags_.type() != task::OutputType::kLogits,
                        .truth = one.truth,
                        .png_base64 = picture.text(),
                        .map_base64 = has_map ? with_map(picture, maps[i]).text() : "",
                        .is_sure_mistake = !are_right,
                        .is_sure_right = are_right});
    } catch (const Error&) {  // it has vanished since it was answered; the table has it
    }
  }
}

void ClassSink::keep_if_sure(Mistake right) {
  constexpr std::ptrdiff_t kOfAClass = 4;
  std::vector<Mistake>& sure = scores_.sure;
  const auto is_of_class = [&](const Mistake& one) { return one.found == right.found; };
  if (std::ranges::count_if(sure, is_of_class) < kOfAClass) {
    sure.push_back(std::move(right));
    return;
  }
  Mistake* least = nullptr;
  for (Mistake& one : sure) {
    if (is_of_class(one) && (least == nullptr || one.score < least->score)) least = &one;
  }
  if (least->score < right.score) *least = std::move(right);
}

void ClassSink::finish() {
  tell_mistakes();
  if (!shown_path_.empty()) record::write_predicted_images(shown_path_, shown_);
}

}  // namespace evener::job
