#include "job/infer/infer_sinks.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "base/numbers.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "data/passed_over.h"
#include "job/sort_folder.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace evener::job {
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
constexpr const char *kUnsure = "unsure", *kUnknown = "unknown";

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
  void take(const task::Prediction& prediction) override { raw_.add(samples_.name(prediction.index), prediction); }
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
  void take(const task::Prediction& prediction) override {
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

void RawOutputs::add(const std::string& image, const task::Prediction& prediction) {
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
  require_beside_photos(out_, photos);
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
    const fs::path place = out_ / folder_name(folder);
    fs::create_directories(place);
    const auto is_taken = [&](const std::string& name) { return fs::exists(fs::symlink_status(place / name)); };
    const fs::path file = place / free_name(whole, is_taken);
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

SortSink::SortSink(const PredictionFlags& flags, const task::InferenceModel& network, const data::Samples& samples,
                   const std::vector<std::string>& photos)
    : flags_(flags),
      network_(network),
      samples_(files_only(samples)),
      sorter_(*flags.sort, *flags.sort_by == "copy" ? SortBy::kCopy : SortBy::kLink, photos),
      folders_(folders_of(network.classes())) {}

void SortSink::take(const task::Prediction& prediction) {
  const auto output = prediction.outputs.at(network_.main_output());
  const task::ClassScore best = task::top_classes(output, 1, task::OutputType::kAuto).front();
  const bool unknown = is_unknown(unknown_of(network_, prediction));
  const bool is_unsure = best.score < *flags_.sort_threshold;
  const std::string aside = unknown ? no_class(kUnknown) : is_unsure ? no_class(kUnsure) : "";
  const std::string name = class_name(network_, best.index);
  const auto folder = folders_.find(name);
  sorter_.add(samples_.name(prediction.index), !aside.empty()             ? aside
                                               : folder == folders_.end() ? name
                                                                          : folder->second);
  if (!aside.empty() && fs::is_directory(sorter_.out() / aside)) mark_as_no_class(sorter_.out() / aside);
}

std::string SortSink::no_class(const std::string& name) const {
  const bool is_taken = std::ranges::find(network_.classes(), name) != network_.classes().end();
  return std::string(is_taken ? "_" : "") + name;
}

InferSinks::InferSinks(const PredictionFlags& flags, const task::InferenceModel& network, const data::Samples& samples,
                       bool labelled, const fs::path& folder, const std::vector<std::string>& photos,
                       const OutputShapes& shapes, Observer& observer) {
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

}  // namespace evener::job
