#include "cli/detect_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
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

/// A name for the files of each photo: that of the photo without its ending, made unique.
std::vector<std::string> file_names(const std::vector<LookedAt>& photos) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const LookedAt& photo : photos) {
    std::string stem = fs::path(photo.found.file).stem().string();
    if (stem.empty() || stem.front() == '#') stem = fmt::format("image-{:05}", photo.index);
    std::string name = stem;
    for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}-{}", stem, n);
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

void write_crops(const LookedAt& photo, const data::Picture& picture, float least, const std::string& name,
                 const fs::path& folder, const std::vector<std::string>& classes) {
  for (std::size_t i = 0; i < photo.found.boxes.size(); ++i) {
    const task::Detection& box = photo.found.boxes[i];
    if (box.score < least) continue;
    const fs::path of_class = folder / folder_name(classes[static_cast<std::size_t>(box.label)]);
    fs::create_directories(of_class);
    write_file_atomically(of_class / fmt::format("{}-{}.jpg", name, i),
                          data::encode_jpeg(task::cut_out(picture, box), kQuality));
  }
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
                                             const DetectionWriter& writer, const task::Photos& photos,
                                             const std::vector<std::string>& classes, int threads) {
  const bool wants_voc = *flags.format == "voc", wants_yolo = *flags.format == "yolo";
  const fs::path crops = *flags.crops;
  const std::vector<LookedAt>& all = writer.photos();
  const std::vector<std::string> names = file_names(all);
  if (*flags.save) fs::create_directories(folder / "pictures");
  if (wants_voc) fs::create_directories(folder / "annotations");
  if (wants_yolo) fs::create_directories(folder / "labels");
  if (wants_yolo) write_file_atomically(folder / "classes.txt", fmt::format("{}\n", fmt::join(classes, "\n")));
  std::mutex mutex;
  std::vector<data::Skipped> unreadable;
  data::for_each_index(all.size(), threads, [&](std::size_t i) {
    const LookedAt& photo = all[i];
    if (wants_voc) {
      write_file_atomically(folder / "annotations" / (names[i] + ".xml"), task::voc_xml(photo.found, classes));
    }
    if (wants_yolo) write_file_atomically(folder / "labels" / (names[i] + ".txt"), task::yolo_text(photo.found));
    if (!*flags.save && crops.empty()) return;
    data::Picture picture;
    try {
      picture = photos.picture(photo.index);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      unreadable.push_back({photo.found.file, error.what()});
      return;
    }
    if (!crops.empty()) write_crops(photo, picture, writer.shown_confidence(), names[i], crops, classes);
    if (!*flags.save) return;
    write_file_atomically(folder / "pictures" / (names[i] + ".jpg"),
                          with_all_boxes(photo, std::move(picture), writer.shown_confidence(), classes));
  });
  return unreadable;
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
