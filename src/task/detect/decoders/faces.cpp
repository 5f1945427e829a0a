#include "task/detect/decoders/faces.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace evener::task {

FaceBoxDecoder::FaceBoxDecoder(FivePointDecoder decoder, std::vector<std::string> outputs)
    : decoder_(std::move(decoder)), outputs_(std::move(outputs)) {}

std::vector<Detection> FaceBoxDecoder::found(const ImageOutputs& outputs, const DecodeOptions& options,
                                             float pixel) const {
  if (!is_wanted(0, options)) return {};
  std::vector<const float*> values;
  for (const std::string& name : outputs_) values.push_back(output_of(outputs, name).data());
  const FivePointOptions asked{// Here a score has to be higher, there at least as high.
                               .least_score = std::nextafter(options.confidence, 2.0F),
                               .overlap = options.iou,
                               .pixel = pixel,
                               .candidates = options.candidates};
  std::vector<Detection> found;
  for (const FivePointFace& face : decoder_.faces(values, asked)) {
    found.push_back({.x1 = face.x1, .y1 = face.y1, .x2 = face.x2, .y2 = face.y2, .label = 0, .score = face.score});
    if (found.size() == options.most) break;
  }
  return found;
}

std::optional<RecognisedDetector> recognise_faces(const DetectorFile& file) {
  if (!file.wanted.empty() && file.wanted != "faces") return std::nullopt;
  std::vector<PlaceOutput> places;
  std::vector<std::string> names;
  for (const TrialOutput& output : file.outputs) {
    places.push_back(place_output(output.name, output.shape, 1));
    names.push_back(output.name);
  }
  const auto decoder = FivePointDecoder::recognise(places, file.width, file.height);
  if (!decoder) return std::nullopt;
  RecognisedDetector detector{.family = face_family_facts(decoder->family()).name, .classes = 1};
  detector.crop = data::CropMode::kInsightface;
  switch (decoder->family()) {
    case FaceFamily::kScrfd:
      detector.normalization = "0.5/0.50196078431372549";  // (value - 127.5) / 128
      break;
    case FaceFamily::kYunet:
      detector.normalization = "pixels";
      detector.reverse_channels = true;
      break;
    case FaceFamily::kRetinaface:  // less 104, 117 and 123 of blue, green and red
      detector.normalization = "0.40784313725490196:0.45882352941176469:0.4823529411764706/0.0039215686274509803";
      detector.reverse_channels = true;
      break;
  }
  detector.decoder = std::make_shared<FaceBoxDecoder>(*decoder, std::move(names));
  return detector;
}

}  // namespace evener::task
