#include "data/open/picture_survey.h"

#include <map>
#include <string>
#include <tuple>

#include "base/error.h"
#include "data/codecs/decode.h"
#include "data/deep_images.h"
#include "data/image_files.h"
#include "data/image_shape.h"

namespace evener::data {

PictureSurvey survey_pictures(const Pictures& pictures, int threads, const Progress& progress) {
  std::vector<ImageShape> shapes(pictures.size());
  std::vector<std::string> reasons(pictures.size());
  DeepImages deep;
  const auto look = [&](std::size_t i) {
    try {
      const Picture picture = pictures.read(i);
      deep.add(picture);
      shapes[i] = {picture.channels, picture.height, picture.width};
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      reasons[i] = error.what();
    }
  };
  for_each_index(pictures.size(), threads, look, progress);

  PictureSurvey survey;
  survey.notes = deep.notes();
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> sizes;  // pixels, width, height
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const ImageShape& shape = shapes[i];
    if (!reasons[i].empty()) {
      survey.unreadable.push_back({pictures.source(i), reasons[i]});
      continue;
    }
    ++(shape.channels == 1 ? survey.grey : survey.colour);
    ++sizes[{shape.width * shape.height, shape.width, shape.height}];
  }
  for (const auto& [size, count] : sizes) {
    const PictureSize found{std::get<1>(size), std::get<2>(size), count};
    if (survey.smallest.pictures == 0) survey.smallest = found;
    survey.largest = found;
    if (count > survey.commonest.pictures) survey.commonest = found;
  }
  return survey;
}

std::vector<std::string> deep_notes(const Pictures& pictures) {
  if (pictures.live() != nullptr) return {};
  constexpr std::size_t kMostLookedAt = 16;
  const std::size_t step = (pictures.size() + kMostLookedAt - 1) / kMostLookedAt;
  DeepImages deep;
  for (std::size_t i = 0; i < pictures.size(); i += step) {
    if (pictures.video_of(i) != nullptr) continue;
    try {
      const std::string file = read_image_file(pictures.source(i));
      if (read_picture_header(file).has_16_bits) deep.add(decode_image_file(file));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {  // told when it is to be shown
    }
  }
  return deep.notes();
}

}  // namespace evener::data
