#include "detect/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/base64.h"
#include "base/error.h"
#include "base/files.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "data/codecs/decode.h"
#include "data/each_index.h"
#include "data/resize.h"
#include "data/sort_folder.h"
#include "data/write_folder.h"
#include "detect/page/pictures_page.h"
#include "record/detection.h"

namespace evener::detection {
namespace {

namespace fs = std::filesystem;

constexpr int kQuality = 90;              // of photos with boxes
constexpr std::size_t kMostMisses = 24;   // on the page
constexpr std::int64_t kMissSide = 360;   // pixels
constexpr std::int64_t kSmallSide = 480;  // of the pictures on the page
constexpr int kSmallQuality = 80;
constexpr Colour kMissed = {213, 0, 0}, kWrong = {230, 130, 0}, kRight = {0, 140, 90};

/// The name of a photo without its ending; of one that lies with others in a file, as "set.safetensors#17", with its
/// number.
std::string stem_of(const std::string& photo) {
  // A frame's time, as in "clip.mp4@12.040s", would be taken for an ending.
  const std::size_t time = photo.ends_with('s') ? photo.rfind('@') : std::string::npos;
  if (time != std::string::npos) return stem_of(photo.substr(0, time)) + photo.substr(time);
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
/// The folder of each class's crops.
std::vector<std::string> crop_folders(const std::vector<std::string>& classes) {
  std::map<std::string, std::string> folders = data::folders_of(classes);
  std::vector<std::string> of_classes;
  for (const std::string& name : classes) of_classes.push_back(name.empty() ? "_" : folders.at(name));
  return of_classes;
}

std::string label_of(const Detection& box, const std::vector<std::string>& classes) {
  return fmt::format("{} {:.2f}", to_utf8_text(one_line(classes[static_cast<std::size_t>(box.label)])), box.score);
}

DrawnBox drawn(const Detection& box, std::string text, const Colour& colour) {
  return {box.x1, box.y1, box.x2, box.y2, std::move(text), colour};
}

/// Why a picture can't become a JPEG file; "" if it can.
std::string jpeg_refusal(const data::Picture& picture) {
  if (std::max(picture.width, picture.height) <= data::kMostJpegExtent) return "";
  return fmt::format("{}x{} pixels can't be written as a JPEG file, which has at most {} a side", picture.width,
                     picture.height, data::kMostJpegExtent);
}

/// Why one was left out; "" if none was.
std::string write_crops(const LookedAt& photo, const data::Picture& picture, float least, const std::string& name,
                        const fs::path& folder, const std::vector<std::string>& class_folders) {
  std::string refusal;
  for (std::size_t i = 0; i < photo.found.boxes.size(); ++i) {
    const Detection& box = photo.found.boxes[i];
    if (box.score < least) continue;
    const data::Picture cut = cut_out(picture, box);
    if (const std::string why = jpeg_refusal(cut); !why.empty()) {
      refusal = "what was found on it: " + why;
      continue;
    }
    const fs::path of_class = folder / class_folders[static_cast<std::size_t>(box.label)];
    fs::create_directories(of_class);
    write_file_atomically(of_class / fmt::format("{}-{}.jpg", name, i), data::encode_jpeg(cut, kQuality));
  }
  return refusal;
}

/// The number of mistakes on a photo: missed objects and wrong boxes count alike.
std::size_t mistakes(const LookedAt& photo) {
  return photo.matched.missed.size() + photo.matched.wrong.size();
}

/// The factor by which a picture is reduced so that its longer side has at most `side` pixels.
double scale_to(const data::Picture& picture, std::int64_t side) {
  return std::min(1.0, static_cast<double>(side) / static_cast<double>(std::max(picture.width, picture.height)));
}

data::Picture smaller(data::Picture picture, double scale) {
  const auto extent = [&](std::int64_t of) {
    return std::max<std::int64_t>(1, std::llround(scale * static_cast<double>(of)));
  };
  const std::int64_t height = extent(picture.height), width = extent(picture.width);
  return data::resize(std::move(picture), height, width);
}

record::MissedImage miss_of(const LookedAt& photo, data::Picture picture, const std::vector<std::string>& classes,
                            const Lettering& lettering) {
  const double scale = scale_to(picture, kMissSide);
  picture = smaller(std::move(picture), scale);
  std::vector<DrawnBox> boxes;
  for (const std::size_t i : photo.matched.right) boxes.push_back(drawn(photo.found.boxes[i], "", kRight));
  for (const std::size_t i : photo.matched.wrong) {
    boxes.push_back(drawn(photo.found.boxes[i], label_of(photo.found.boxes[i], classes), kWrong));
  }
  for (const std::size_t i : photo.matched.missed) {
    const TrueBox& box = photo.truth[i];
    boxes.push_back({box.x1, box.y1, box.x2, box.y2,
                     to_utf8_text(one_line(classes[static_cast<std::size_t>(box.label)])), kMissed, true});
  }
  for (DrawnBox& box : boxes) box.x1 *= scale, box.y1 *= scale, box.x2 *= scale, box.y2 *= scale;
  return {photo.found.file, static_cast<std::int64_t>(photo.matched.missed.size()),
          static_cast<std::int64_t>(photo.matched.wrong.size()),
          to_base64(data::encode_jpeg(with_boxes(std::move(picture), boxes, lettering), kQuality))};
}

/// The caption of a picture on the page.
PictureOnPage on_page(const LookedAt& photo, const data::Picture& picture, float least, const std::string& name) {
  PictureOnPage shown{.file = to_utf8_text(photo.found.file),
                      .picture = name + ".jpg",
                      .small = "small/" + name + ".jpg",
                      .width = picture.width,
                      .height = picture.height,
                      .boxes = {}};
  const auto width = static_cast<double>(picture.width), height = static_cast<double>(picture.height);
  for (const Detection& box : photo.found.boxes) {
    if (box.score < least) continue;
    shown.boxes.push_back(
        {box.label, double{box.score}, box.x1 / width, box.y1 / height, box.x2 / width, box.y2 / height});
  }
  return shown;
}

void write_page(const fs::path& folder, std::vector<PictureOnPage> pictures, float least,
                const std::vector<std::string>& classes) {
  PicturesPage page{.least = double{least}, .classes = {}, .pictures = std::move(pictures)};
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const Colour colour = class_colour(static_cast<std::int32_t>(c));
    page.classes.push_back(
        {to_utf8_text(classes[c]), fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2])});
  }
  std::erase_if(page.pictures, [](const PictureOnPage& picture) { return picture.picture.empty(); });
  write_file_atomically(pictures_index(folder), pictures_html(page));
}

void make_folders(const DetectOutputFlags& flags, bool has_pictures, const fs::path& folder,
                  const std::vector<std::string>& classes) {
  if (has_pictures) fs::create_directories(folder / "pictures" / "small");
  if (*flags.format == "voc") fs::create_directories(folder / "annotations");
  if (*flags.format != "yolo") return;
  fs::create_directories(folder / "labels");
  std::string lines;
  for (const std::string& name : classes) lines += one_line(to_utf8_text(name)) + "\n";
  write_file_atomically(folder / "classes.txt", lines);
}

void write_labels(const std::string& format, const LookedAt& photo, float least, const fs::path& folder,
                  const std::string& name, const std::vector<std::string>& classes) {
  const data::BoxedFile labelled = boxed_file(photo.found, least);
  if (format == "voc") {
    write_file_atomically(folder / "annotations" / (name + ".xml"), data::voc_text(labelled, classes));
  }
  if (format == "yolo") write_file_atomically(folder / "labels" / (name + ".txt"), data::yolo_text(labelled));
}

/// Frames of videos become a video again.
bool is_frame(const Photos& photos, const LookedAt& photo) {
  return photos.pictures() != nullptr && photos.pictures()->video_of(photo.index) != nullptr;
}

}  // namespace

fs::path pictures_index(const fs::path& folder) {
  return folder / "pictures" / "index.html";
}

std::vector<DrawnBox> boxes_to_draw(const FoundBoxes& found, float least, const std::vector<std::string>& classes) {
  std::vector<DrawnBox> boxes;
  for (const Detection& box : found.boxes) {
    if (box.score >= least) boxes.push_back(drawn(box, label_of(box, classes), class_colour(box.label)));
  }
  std::ranges::reverse(boxes);
  return boxes;
}

std::vector<data::Skipped> write_photo_files(const DetectOutputFlags& flags, const fs::path& folder,
                                             const BoxSink& writer, const Photos& photos,
                                             const std::vector<std::string>& classes, const Lettering& lettering,
                                             int threads) {
  const fs::path crops = *flags.crops;
  const std::vector<LookedAt>& all = writer.photos();
  const std::vector<std::string> names = file_names(all);
  const float least = writer.shown_confidence();
  const bool has_pictures =
      *flags.save && std::ranges::any_of(all, [&](const LookedAt& photo) { return !is_frame(photos, photo); });
  make_folders(flags, has_pictures, folder, classes);
  const std::vector<std::string> class_folders = crop_folders(classes);
  std::vector<PictureOnPage> pictures(*flags.save ? all.size() : 0);
  std::mutex mutex;
  std::vector<data::Skipped> lost;
  const auto lose = [&](const LookedAt& photo, const std::string& why) {
    const std::lock_guard lock(mutex);
    lost.push_back({photo.found.file, why});
  };
  data::for_each_index(all.size(), threads, [&](std::size_t i) {
    const LookedAt& photo = all[i];
    write_labels(*flags.format, photo, least, folder, names[i], classes);
    const bool saved = *flags.save && !is_frame(photos, photo);
    if (!saved && crops.empty()) return;
    data::Picture picture;
    try {
      picture = photos.picture(photo.index);
    } catch (const Error& error) {
      lose(photo, error.what());
      return;
    }
    std::string lost_crops;
    if (!crops.empty()) lost_crops = write_crops(photo, picture, least, names[i], crops, class_folders);
    const std::string lost_picture = saved ? jpeg_refusal(picture) : "";
    if (const std::string& why = lost_picture.empty() ? lost_crops : lost_picture; !why.empty()) lose(photo, why);
    if (!saved || !lost_picture.empty()) return;
    pictures[i] = on_page(photo, picture, least, names[i]);
    data::Picture small =
        cut_out(picture, {0, 0, static_cast<float>(picture.width), static_cast<float>(picture.height), 0, 0});
    small = smaller(std::move(small), scale_to(picture, kSmallSide));
    write_file_atomically(folder / "pictures" / pictures[i].small, data::encode_jpeg(small, kSmallQuality));
    picture = with_boxes(std::move(picture), boxes_to_draw(photo.found, least, classes), lettering);
    write_file_atomically(folder / "pictures" / pictures[i].picture, data::encode_jpeg(picture, kQuality));
  });
  if (has_pictures) write_page(folder, std::move(pictures), least, classes);
  return lost;
}

std::vector<record::MissedImage> worst_misses(const BoxSink& writer, const Photos& photos,
                                              const std::vector<std::string>& classes, const Lettering& lettering,
                                              int threads) {
  std::vector<const LookedAt*> worst;
  for (const LookedAt& photo : writer.photos()) {
    if (mistakes(photo) > 0) worst.push_back(&photo);
  }
  std::ranges::stable_sort(worst, std::ranges::greater{}, [](const LookedAt* photo) { return mistakes(*photo); });
  if (worst.size() > kMostMisses) worst.resize(kMostMisses);
  std::vector<record::MissedImage> images(worst.size());
  data::for_each_index(worst.size(), threads, [&](std::size_t i) {
    try {
      images[i] = miss_of(*worst[i], photos.picture(worst[i]->index), classes, lettering);
    } catch (const Error&) {  // gone since it was looked at
    }
  });
  std::erase_if(images, [](const record::MissedImage& image) { return image.jpeg_base64.empty(); });
  return images;
}

}  // namespace evener::detection
