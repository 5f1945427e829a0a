#include "cli/detect_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "data/box_text.h"
#include "data/codecs/jpeg_encode.h"
#include "data/each_index.h"
#include "data/resize.h"
#include "report/answers.h"
#include "task/detect/draw.h"

namespace evener::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kQuality = 90;             // of photos with boxes
constexpr std::size_t kMostMisses = 24;  // on the page
constexpr std::int64_t kMissSide = 360;  // pixels
constexpr task::Colour kMissed = {213, 0, 0}, kWrong = {230, 130, 0}, kRight = {0, 140, 90};

/// The name of a photo without its ending; of one that lies with others in a file, as "set.safetensors#17", with its
/// number.
std::string stem_of(const std::string& photo) {
  const fs::path path(photo);
  const std::string ending = path.extension().string();
  const std::size_t number = ending.rfind('#');
  return path.stem().string() + (number == std::string::npos ? "" : "-" + ending.substr(number + 1));
}

/// A name for the files of each photo: its own, made unique.
std::vector<std::string> file_names(const std::vector<LookedAt>& photos) {
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> last;  // the number that a name was made unique with
  for (const LookedAt& photo : photos) {
    const std::string stem = stem_of(photo.found.file);
    std::string name = stem;
    for (int& n = last.try_emplace(stem, 1).first->second; !taken.insert(name).second;) {
      name = fmt::format("{}-{}", stem, ++n);
    }
    names.push_back(name);
  }
  return names;
}

/// A class's name as that of a folder.
std::string folder_name(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name.empty() || name.front() == '.' ? "_" + name : name;
}

std::string label_of(const task::Detection& box, const std::vector<std::string>& classes) {
  return fmt::format("{} {:.2f}", classes[static_cast<std::size_t>(box.label)], box.score);
}

task::DrawnBox drawn(const task::Detection& box, std::string text, const task::Colour& colour) {
  return {box.x1, box.y1, box.x2, box.y2, std::move(text), colour};
}

std::string with_all_boxes(const LookedAt& photo, data::Picture picture, float least,
                           const std::vector<std::string>& classes) {
  std::vector<task::DrawnBox> boxes;
  for (const task::Detection& box : photo.found.boxes) {
    if (box.score >= least) boxes.push_back(drawn(box, label_of(box, classes), task::class_colour(box.label)));
  }
  std::ranges::reverse(boxes);  // the likeliest on top
  return data::encode_jpeg(task::with_boxes(std::move(picture), boxes), kQuality);
}

/// Why a picture can't become a JPEG file; "" if it can.
std::string jpeg_refusal(const data::Picture& picture) {
  if (std::max(picture.width, picture.height) <= data::kMostJpegExtent) return "";
  return fmt::format("{}x{} pixels can't be written as a JPEG file, which has at most {} a side", picture.width,
                     picture.height, data::kMostJpegExtent);
}

/// Why one was left out; "" if none was.
std::string write_crops(const LookedAt& photo, const data::Picture& picture, float least, const std::string& name,
                        const fs::path& folder, const std::vector<std::string>& classes) {
  std::string refusal;
  for (std::size_t i = 0; i < photo.found.boxes.size(); ++i) {
    const task::Detection& box = photo.found.boxes[i];
    if (box.score < least) continue;
    const data::Picture cut = task::cut_out(picture, box);
    if (const std::string why = jpeg_refusal(cut); !why.empty()) {
      refusal = "what was found on it: " + why;
      continue;
    }
    const fs::path of_class = folder / folder_name(classes[static_cast<std::size_t>(box.label)]);
    fs::create_directories(of_class);
    write_file_atomically(of_class / fmt::format("{}-{}.jpg", name, i), data::encode_jpeg(cut, kQuality));
  }
  return refusal;
}

/// How much went wrong on a photo: what was missed counts as what was found where nothing is.
std::size_t mistakes(const LookedAt& photo) {
  return photo.matched.missed.size() + photo.matched.wrong.size();
}

report::MissedImage miss_of(const LookedAt& photo, data::Picture picture, const std::vector<std::string>& classes) {
  const double scale =
      std::min(1.0, static_cast<double>(kMissSide) / static_cast<double>(std::max(picture.width, picture.height)));
  const auto extent = [&](std::int64_t of) {
    return std::max<std::int64_t>(1, std::llround(scale * static_cast<double>(of)));
  };
  picture = data::resize(std::move(picture), extent(picture.height), extent(picture.width));
  std::vector<task::DrawnBox> boxes;
  for (const std::size_t i : photo.matched.right) boxes.push_back(drawn(photo.found.boxes[i], "", kRight));
  for (const std::size_t i : photo.matched.wrong) {
    boxes.push_back(drawn(photo.found.boxes[i], label_of(photo.found.boxes[i], classes), kWrong));
  }
  for (const std::size_t i : photo.matched.missed) {
    const task::TrueBox& box = photo.truth[i];
    boxes.push_back({box.x1, box.y1, box.x2, box.y2, classes[static_cast<std::size_t>(box.label)], kMissed, true});
  }
  for (task::DrawnBox& box : boxes) box.x1 *= scale, box.y1 *= scale, box.x2 *= scale, box.y2 *= scale;
  return {photo.found.file, static_cast<std::int64_t>(photo.matched.missed.size()),
          static_cast<std::int64_t>(photo.matched.wrong.size()),
          report::base64(data::encode_jpeg(task::with_boxes(std::move(picture), boxes), kQuality))};
}

}  // namespace

std::vector<data::Skipped> write_photo_files(const DetectOutputFlags& flags, const fs::path& folder,
                                             const DetectionWriter& writer, float least_to_label,
                                             const task::Photos& photos, const std::vector<std::string>& classes,
                                             int threads) {
  const bool wants_voc = *flags.format == "voc", wants_yolo = *flags.format == "yolo";
  const fs::path crops = *flags.crops;
  const std::vector<LookedAt>& all = writer.photos();
  const std::vector<std::string> names = file_names(all);
  if (*flags.save) fs::create_directories(folder / "pictures");
  if (wants_voc) fs::create_directories(folder / "annotations");
  if (wants_yolo) fs::create_directories(folder / "labels");
  if (wants_yolo) {
    std::string lines;
    for (const std::string& name : classes) lines += one_line(to_utf8_text(name)) + "\n";
    write_file_atomically(folder / "classes.txt", lines);
  }
  std::mutex mutex;
  std::vector<data::Skipped> lost;
  const auto lose = [&](const LookedAt& photo, const std::string& why) {
    const std::lock_guard lock(mutex);
    lost.push_back({photo.found.file, why});
  };
  data::for_each_index(all.size(), threads, [&](std::size_t i) {
    const LookedAt& photo = all[i];
    const data::BoxedFile labelled = task::boxed_file(photo.found, least_to_label);
    if (wants_voc) {
      write_file_atomically(folder / "annotations" / (names[i] + ".xml"), data::voc_text(labelled, classes));
    }
    if (wants_yolo) write_file_atomically(folder / "labels" / (names[i] + ".txt"), data::yolo_text(labelled));
    if (!*flags.save && crops.empty()) return;
    data::Picture picture;
    try {
      picture = photos.picture(photo.index);
    } catch (const Error& error) {
      lose(photo, error.what());
      return;
    }
    const float least = writer.shown_confidence();
    std::string lost_crops;
    if (!crops.empty()) lost_crops = write_crops(photo, picture, least, names[i], crops, classes);
    const std::string lost_picture = *flags.save ? jpeg_refusal(picture) : "";
    if (const std::string& why = lost_picture.empty() ? lost_crops : lost_picture; !why.empty()) lose(photo, why);
    if (!*flags.save || !lost_picture.empty()) return;
    write_file_atomically(folder / "pictures" / (names[i] + ".jpg"),
                          with_all_boxes(photo, std::move(picture), least, classes));
  });
  return lost;
}

std::vector<report::MissedImage> worst_misses(const DetectionWriter& writer, const task::Photos& photos,
                                              const std::vector<std::string>& classes, int threads) {
  std::vector<const LookedAt*> worst;
  for (const LookedAt& photo : writer.photos()) {
    if (mistakes(photo) > 0) worst.push_back(&photo);
  }
  std::ranges::stable_sort(worst, std::ranges::greater{}, [](const LookedAt* photo) { return mistakes(*photo); });
  if (worst.size() > kMostMisses) worst.resize(kMostMisses);
  std::vector<report::MissedImage> images(worst.size());
  data::for_each_index(worst.size(), threads, [&](std::size_t i) {
    try {
      images[i] = miss_of(*worst[i], photos.picture(worst[i]->index), classes);
    } catch (const Error&) {  // gone since it was looked at
    }
  });
  std::erase_if(images, [](const report::MissedImage& image) { return image.jpeg_base64.empty(); });
  return images;
}

}  // namespace evener::cli
