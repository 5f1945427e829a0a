#include "infer/sinks.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include "base/base64.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/plural.h"
#include "base/tensor.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "data/codecs/colour.h"
#include "data/codecs/decode.h"
#include "data/passed_over.h"
#include "data/resize.h"
#include "data/sort_folder.h"
#include "engine/best_class.h"
#include "engine/engine.h"
#include "infer/run/activation_map.h"
#include "record/detection.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::inference {
namespace {

namespace fs = std::filesystem;

/// "StatefulPartitionedCall_0" for an output "StatefulPartitionedCall:0".
std::string file_name(const std::string& output) {
  std::string name;
  for (const char c : output) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
    name += is_plain ? c : '_';
  }
  return name.empty() || name.front() == '.' ? "output" + name : name;
}

/// The header of a .npy file. Its length doesn't depend on the number of images, so that it can be overwritten at the
/// end.
std::string header(std::int64_t images, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kNumberWidth = 20, kBegin = 10, kAlignment = 64;
  std::string extents = fmt::format("{},", images);
  for (const std::int64_t extent : shape) extents += fmt::format(" {},", extent);
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + extents + "), }";
  const std::size_t longest = kBegin + text.size() - fmt::format("{}", images).size() + kNumberWidth + 1;
  const std::size_t whole = (longest + kAlignment - 1) / kAlignment * kAlignment - kBegin;
  text.resize(whole - 1, ' ');
  const auto low = static_cast<char>(whole & 0xff), high = static_cast<char>(whole >> 8);
  return std::string("\x93NUMPY\x01\x00", 8) + low + high + text + "\n";
}

/// The target of a link in the sorted folder, or the file itself, to be compared with photos.
fs::path target_of(const fs::path& file) {
  std::error_code error;
  const fs::path target = fs::is_symlink(file) ? fs::read_symlink(file, error) : file;
  return (target.is_absolute() ? target : file.parent_path() / target).lexically_normal();
}

bool have_equal_bytes(const fs::path& a, const fs::path& b) {
  std::error_code error;
  const auto bytes = fs::file_size(a, error);
  if (error || bytes != fs::file_size(b, error) || error) return false;
  return read_file(a) == read_file(b);
}

/// Whether `file` is a copy of `photo` that ended early: a full disk, or somebody who ended the program.
bool is_cut_copy(const fs::path& file, const fs::path& photo) {
  std::error_code error;
  const auto bytes = fs::file_size(file, error);
  if (error || bytes >= fs::file_size(photo, error) || error) return false;
  return read_file(photo).starts_with(read_file(file));
}

/// "a.jpg" of a copy "a-2.jpg", which a second photo of that name may be; "" = it isn't called so.
std::string numberless(const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::size_t digits = stem.find_last_not_of("0123456789") + 1;
  if (digits < 2 || digits == stem.size() || stem[digits - 1] != '-') return "";
  return stem.substr(0, digits - 1) + file.extension().string();
}

/// A half copy, unless the process that makes it lives.
void remove_if_left(const fs::path& temporary) {
  const std::string name = temporary.filename().string();
  const auto process = to_number<pid_t>(std::string_view(name).substr(name.find_last_not_of("0123456789") + 1));
  std::error_code ignored;
  if (process && ::kill(*process, 0) != 0 && errno == ESRCH) fs::remove(temporary, ignored);
}

/// The folders of sorted photos whose class isn't clear, and of those that are like nothing trained on.
/// The probability with which --sort believes a class.
constexpr double kSureEnough = 0.8;
constexpr const char *kUnsureFolder = "unsure", *kUnknownFolder = "unknown";

/// Samples that are not files can't be sorted.
const data::Samples& files_only(const data::Samples& samples) {
  if (samples.size() == 0 || fs::is_regular_file(samples.name(0))) return samples;
  throw UsageError(
      fmt::format("--sort puts photos into folders, and '{}' is no file: give photos", printable(samples.name(0))));
}

/// Writes the network's raw outputs for each sample (--outputs raw).
class RawSink : public PredictionSink {
 public:
  /// Throws Error where a file can't be written in `folder`.
  RawSink(const fs::path& folder, OutputShapes shapes, const data::Samples& samples)
      : raw_(folder, std::move(shapes)), samples_(samples) {}
  void take(const Prediction& prediction) override { raw_.add(samples_.name(prediction.index), prediction); }
  void finish() override { raw_.finish(); }

 private:
  RawOutputs raw_;
  const data::Samples& samples_;
};

/// Writes the input of the last linear layer for each sample into a file (--features).
class FeatureSink : public PredictionSink {
 public:
  /// Throws Error where the folder of `file` can't be written to.
  FeatureSink(fs::path file, std::string network, const data::Samples& samples)
      : file_(std::move(file)), network_(std::move(network)), samples_(samples) {
    require_writable_directory(file_.has_parent_path() ? file_.parent_path() : ".");
  }
  void take(const Prediction& prediction) override {
    const auto found = prediction.outputs.find("features");
    if (found == prediction.outputs.end()) return;
    features_.insert(features_.end(), found->second.begin(), found->second.end());
    files_.push_back(samples_.name(prediction.index));
  }
  void finish() override {
    if (files_.empty()) return;
    const auto count = static_cast<std::int64_t>(files_.size());
    const auto values = static_cast<std::int64_t>(features_.size()) / count;
    weights::write_safetensors(file_, {{"features", HostTensor::of_floats({count, values}, features_)}},
                               {{"format", "evener-features-1"},
                                {"model", to_utf8_text(network_)},
                                {"files", weights::metadata_text(files_)}});
  }

 private:
  const fs::path file_;
  const std::string network_;
  const data::Samples& samples_;
  std::vector<float> features_;
  std::vector<std::string> files_;
};

constexpr std::int64_t kShownSide = 104;

/// The column of the table beside the likeliest class.
constexpr double kWorthTelling = 0.005;

/// "" for what is no number.
std::string score_cell(float score) {
  return std::isnan(score) ? "" : fmt::format("{:.6g}", score);
}

std::string csv_rows(const std::string& name, const std::vector<ClassScore>& top, std::optional<float> unknown,
                     const std::function<std::string(std::size_t)>& class_name) {
  const std::string last = unknown ? fmt::format(",{:.4g}", *unknown) : "";
  std::string rows;
  for (std::size_t rank = 0; rank < top.size(); ++rank) {
    rows += fmt::format("{},{},{},{},{}{}\n", csv_cell(name), rank + 1, top[rank].index,
                        csv_cell(class_name(top[rank].index)), score_cell(top[rank].score), last);
  }
  return rows;
}

/// The most images on the page.
constexpr std::size_t kMostShown = 24;

std::span<const Mistake> first_ones(const std::vector<Mistake>& all) {
  return std::span(all).first(std::min(all.size(), kMostShown));
}

/// Whether no probabilities can be made of the scores.
bool lack_numbers(std::span<const float> scores) {
  return std::ranges::any_of(scores, [](float score) { return std::isnan(score) || score == INFINITY; });
}

/// The name of a score: logit or probability.
std::string score_name(OutputType type) {
  return type == OutputType::kLogits ? "logit" : "probability";
}

}  // namespace

RawOutputs::RawOutputs(fs::path folder, OutputShapes shapes) : folder_(std::move(folder)), shapes_(std::move(shapes)) {
  names_.open(folder_ / "files.txt", std::ios::trunc);
  std::set<std::string> taken;
  for (const auto& [output, shape] : shapes_) {
    const std::string plain = file_name(output);
    std::string name = plain;
    for (int i = 2; !taken.insert(name).second; ++i) name = fmt::format("{}-{}", plain, i);
    File& file = files_[output];
    file.path = folder_ / (name + ".npy");
    file.stream.open(file.path, std::ios::binary | std::ios::trunc);
    if (!(file.stream << header(0, shape)))
      throw Error(fmt::format("'{}' can't be written: {}", file.path.string(), std::strerror(errno)));
  }
}

void RawOutputs::add(const std::string& image, const Prediction& prediction) {
  ++images_;
  names_ << one_line(image) << '\n';
  for (auto& [output, file] : files_) {
    const auto values = prediction.outputs.at(output);
    file.stream.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  }
}

void RawOutputs::finish() {
  names_.close();
  bool is_whole = !names_.fail();
  for (auto& [output, file] : files_) {
    file.stream.seekp(0);
    file.stream << header(images_, shapes_.at(output));
    file.stream.close();
    is_whole = is_whole && !file.stream.fail();
  }
  if (!is_whole) {
    throw Error(
        fmt::format("the outputs in '{}' could not be written to their end: is the disk full?", folder_.string()));
  }
}

PhotoSorter::PhotoSorter(fs::path out, SortBy by, const std::vector<std::string>& photos)
    : out_(std::move(out)), by_(by) {
  data::require_beside_photos(out_, photos);
  const fs::file_status status = fs::status(out_);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) throw UsageError("--sort '" + out_.string() + "' is no folder; name one");
  for (const auto& folder : fs::directory_iterator(out_)) {
    if (folder.is_symlink() || !folder.is_directory() || data::is_system_folder(folder.path())) continue;
    for (const auto& file : fs::directory_iterator(folder)) {
      if (is_temporary_name(file.path())) {
        remove_if_left(file.path());
        continue;
      }
      files_.emplace(target_of(file).filename().string(), file.path());
      if (const std::string name = numberless(file.path()); !file.is_symlink() && !name.empty()) {
        files_.emplace(name, file.path());
      }
    }
  }
}

bool PhotoSorter::is_there(const fs::path& photo) const {
  const auto [first, last] = files_.equal_range(photo.filename().string());
  return std::any_of(first, last, [&](const auto& entry) {
    const fs::path& file = entry.second;
    return fs::is_symlink(file) ? target_of(file) == photo : have_equal_bytes(file, photo);
  });
}

std::optional<fs::path> PhotoSorter::cut_copy_of(const fs::path& photo) const {
  const auto [first, last] = files_.equal_range(photo.filename().string());
  const auto found = std::find_if(first, last, [&](const auto& entry) {
    return !fs::is_symlink(entry.second) && is_cut_copy(entry.second, photo);
  });
  return found == last ? std::nullopt : std::optional(found->second);
}

void PhotoSorter::add(const fs::path& photo, const std::string& folder) {
  const fs::path whole = fs::absolute(photo).lexically_normal();
  try {
    if (is_there(whole)) {
      ++there_;
      return;
    }
    if (const std::optional<fs::path> cut = cut_copy_of(whole)) {
      copy_file_atomically(whole, *cut);
      ++added_[cut->parent_path().filename().string()];
      return;
    }
    const fs::path place = out_ / data::folder_name(folder);
    fs::create_directories(place);
    const auto is_taken = [&](const std::string& name) { return fs::exists(fs::symlink_status(place / name)); };
    const fs::path file = place / data::free_name(whole, is_taken);
    if (by_ == SortBy::kLink) {
      fs::create_symlink(whole, file);
    } else {
      copy_file_atomically(whole, file);
    }
    files_.emplace(whole.filename().string(), file);
    ++added_[folder];
  } catch (const fs::filesystem_error& error) {
    throw Error(fmt::format("can't sort '{}' into '{}': {}", photo.string(), out_.string(), error.code().message()));
  }
}

SortSink::SortSink(const PredictionFlags& flags, const InferenceModel& network, const data::Samples& samples,
                   const std::vector<std::string>& photos)
    : flags_(flags),
      network_(network),
      samples_(files_only(samples)),
      sorter_(*flags.sort, *flags.sort_by == "copy" ? SortBy::kCopy : SortBy::kLink, photos),
      folders_(data::folders_of(network.classes())) {}

void SortSink::take(const Prediction& prediction) {
  const auto output = prediction.outputs.at(network_.main_output());
  const ClassScore best = network_.top_classes(output, 1, flags_.probability_type()).front();
  const bool unknown = is_unknown(unknown_of(network_, prediction));
  const bool is_unsure = !(best.score >= flags_.confidence->value_or(kSureEnough));
  const std::string aside = unknown ? no_class(kUnknownFolder) : is_unsure ? no_class(kUnsureFolder) : "";
  const std::string name = class_name(network_, best.index);
  const auto folder = folders_.find(name);
  sorter_.add(samples_.name(prediction.index), !aside.empty()             ? aside
                                               : folder == folders_.end() ? name
                                                                          : folder->second);
  if (!aside.empty() && fs::is_directory(sorter_.out() / aside)) data::mark_as_no_class(sorter_.out() / aside);
}

std::string SortSink::no_class(const std::string& name) const {
  const bool is_taken = std::ranges::find(network_.classes(), name) != network_.classes().end();
  return std::string(is_taken ? "_" : "") + name;
}

InferSinks::InferSinks(const PredictionFlags& flags, const InferenceModel& network, const data::Samples& samples,
                       bool labelled, const fs::path& folder, const std::vector<std::string>& photos,
                       const OutputShapes& shapes, measure::Observer& observer) {
  if (!shapes.empty()) {
    add<RawSink>(folder, shapes, samples);
    return;
  }
  if (!network.no_classes().empty()) return;
  const bool are_random = photos.size() == 1 && photos.front().starts_with("random:");  // shown to measure
  classes_ = &add<ClassSink>(flags, network, samples, labelled, are_random, folder, observer);
  if (!flags.features->empty()) add<FeatureSink>(*flags.features, network.name(), samples);
  if (!flags.sort->empty()) sort_ = &add<SortSink>(flags, network, samples, photos);
}

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

SmallPicture with_map(const SmallPicture& picture, const ActivationMap& map) {
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

std::optional<float> unknown_of(const InferenceModel& network, const Prediction& prediction) {
  if (!network.tells_unknown()) return std::nullopt;
  const auto found = prediction.outputs.find(kUnknownOutput);
  return found == prediction.outputs.end() || found->second.empty() ? std::nullopt
                                                                    : std::optional(found->second.front());
}

std::string class_name(const InferenceModel& network, std::size_t index) {
  return index < network.classes().size() ? network.classes()[index] : fmt::format("class {}", index);
}

ClassSink::ClassSink(const PredictionFlags& flags, const InferenceModel& network, const data::Samples& samples,
                     bool labelled, bool are_random, const std::filesystem::path& folder, measure::Observer& observer)
    : flags_(flags), network_(network), samples_(samples), observer_(observer), format_(*flags.format) {
  // Users who give options on what is told of each image want the images to be told.
  const bool wants_each = flags.topk.given() || (flags.confidence.given() && flags.sort->empty());
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
  if (labelled && record::confusion_classes(classes) > 0) {
    scores_.confusion.assign(classes, std::vector<std::int64_t>(classes));
  }
}

void ClassSink::take(const Prediction& prediction) {
  const auto output = prediction.outputs.at(network_.main_output());
  if (lack_numbers(output) && no_numbers_++ == 0) first_without_ = samples_.name(prediction.index);
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
  auto top = network_.top_classes(output, static_cast<std::size_t>(*flags_.topk), flags_.type());
  if (flags_.type() != OutputType::kLogits) {
    std::erase_if(top, [&](const ClassScore& one) { return one.score < flags_.confidence->value_or(0); });
  }
  if (!top.empty() && !std::isnan(top.front().score)) show(prediction, top.front());
  tell(samples_.name(prediction.index), top, unknown);
}

void ClassSink::show(const Prediction& prediction, const ClassScore& best) {
  const std::size_t one_in = (samples_.size() + kMostShown - 1) / kMostShown;
  if (shown_path_.empty() || prediction.index % one_in != 0 || shown_.size() == kMostShown) return;
  const auto label = samples_.label(prediction.index);
  shown_.push_back({.file = samples_.name(prediction.index),
                    .found = class_name(best.index),
                    .score = best.score,
                    .is_probability = flags_.type() != OutputType::kLogits,
                    .truth = label ? class_name(static_cast<std::size_t>(*label)) : "",
                    .png_base64 = small_picture(samples_, prediction.index).text(),
                    .is_unknown = is_unknown(unknown_of(network_, prediction))});
}

void ClassSink::score(const Prediction& prediction, std::span<const float> output, std::int32_t label) {
  const auto found = engine::best_class(output.data(), static_cast<std::int64_t>(output.size()));
  const bool are_numbers = !lack_numbers(output), is_right = found == label && are_numbers;
  ++scores_.images;
  scores_.classes = static_cast<std::int64_t>(output.size());
  scores_.correct += is_right ? 1 : 0;
  const Mistake one{prediction.index,
                    samples_.name(prediction.index),
                    class_name(static_cast<std::size_t>(label)),
                    class_name(static_cast<std::size_t>(found)),
                    static_cast<std::size_t>(found),
                    network_.top_classes(output, 1, flags_.type()).front().score};
  if (!is_right) {
    scores_.mistakes.push_back(one);
  } else if (!shown_path_.empty()) {
    keep_if_sure(one);
  }
  for (const auto& one : top_classes(output, 5, OutputType::kLogits)) {
    scores_.correct_in_five += static_cast<std::int32_t>(one.index) == label && are_numbers ? 1 : 0;
  }
  const auto row = static_cast<std::size_t>(label), column = static_cast<std::size_t>(found);
  if (are_numbers && row < scores_.confusion.size() && column < scores_.confusion.size())
    ++scores_.confusion[row][column];
}

void ClassSink::tell(const std::string& name, const std::vector<ClassScore>& top, std::optional<float> unknown) {
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
    const bool logits = flags_.type() == OutputType::kLogits;
    for (const auto& one : top) {
      if (!text.empty() && !logits && one.score < kWorthTelling) break;
      const std::string score = std::isnan(one.score) ? "no number"
                                : logits              ? fmt::format("{:.4g}", one.score)
                                                      : fmt::format("{:.1f} %", 100 * one.score);
      text += (text.empty() ? "" : ", ") + printable(class_name(one.index)) + " " + score;
    }
    observer_.tell(
        fmt::format("{}  {}{}\n", printable(name), is_unknown(unknown) ? "unknown: " : "", text.empty() ? "-" : text));
  }
}

void ClassSink::tell_mistakes() {
  std::vector<Mistake>& mistakes = scores_.mistakes;
  std::ranges::stable_sort(mistakes, std::ranges::greater(),
                           [](const Mistake& one) { return std::isnan(one.score) ? -INFINITY : one.score; });
  if (!mistakes_path_.empty()) {
    write_file_atomically(mistakes_path_, [&](std::ostream& out) {
      out << "file,true_class,found_class,score\n";
      for (const Mistake& mistake : mistakes) {
        out << fmt::format("{},{},{},{}\n", csv_cell(mistake.file), csv_cell(mistake.truth), csv_cell(mistake.found),
                           score_cell(mistake.score));
      }
    });
  }
  if (shown_path_.empty()) return;
  std::ranges::stable_sort(scores_.sure, std::ranges::greater(), &Mistake::score);
  show_labelled(first_ones(mistakes), /*are_right=*/false);
  show_labelled(first_ones(scores_.sure), /*are_right=*/true);
}

std::vector<ActivationMap> ClassSink::maps_of(std::span<const Mistake> ones) const {
  if (!flags_.shows_maps || network_.network() == nullptr || ones.empty()) return {};
  const std::optional<PooledHead> head = pooled_head(*network_.network());
  if (!head) return {};
  std::vector<Looked> looked;
  for (const Mistake& one : ones) looked.push_back({one.index, one.found_index});
  const auto engine = engine::open_engine(engine::usual_runner_engine(DeviceKind::kCpu));
  return class_maps({*engine, network_.normalization(), usable_cores()}, *network_.network(), *network_.state(), *head,
                    samples_, looked);
}

void ClassSink::show_labelled(std::span<const Mistake> ones, bool are_right) {
  const std::vector<ActivationMap> maps = maps_of(ones);
  for (std::size_t i = 0; i < ones.size(); ++i) {
    const Mistake& one = ones[i];
    if (std::isnan(one.score)) continue;
    try {
      const SmallPicture picture = small_picture(samples_, one.index);
      const bool has_map = i < maps.size() && !maps[i].values.empty();
      shown_.push_back({.file = one.file,
                        .found = one.found,
                        .score = one.score,
                        .is_probability = flags_.type() != OutputType::kLogits,
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
  if (no_numbers_ > 0) {
    observer_.note(
        fmt::format("warning: the network gave no number (NaN or infinity) for {}, first for {}: they have no "
                    "probabilities; --precision fp32 helps where values grew too large, else its weights are "
                    "damaged",
                    counted(no_numbers_, "image"), printable(first_without_)));
  }
  tell_mistakes();
  if (!shown_path_.empty()) record::write_predicted_images(shown_path_, shown_);
}

}  // namespace evener::inference
