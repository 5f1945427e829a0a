// Detectors of faces as detectors of one class: SCRFD, YuNet and RetinaFace (five_points.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "task/detect/decoders/box_decoder.h"
#include "task/detect/decoders/detector_file.h"
#include "task/detect/decoders/five_points.h"

namespace evener::task {

class FaceBoxDecoder : public BoxDecoder {
 public:
  /// `outputs`: their names, in the order that `decoder` recognised them in.
  FaceBoxDecoder(FivePointDecoder decoder, std::vector<std::string> outputs);
  std::vector<Detection> found(const ImageOutputs& outputs, const DecodeOptions& options, float pixel) const override;
  float usual_iou() const override { return face_family_facts(decoder_.family()).overlap; }
  std::size_t usual_candidates() const override { return FivePointOptions().candidates; }

 private:
  const FivePointDecoder decoder_;
  const std::vector<std::string> outputs_;
};

/// Absent where the outputs aren't those of such a network.
std::optional<RecognisedDetector> recognise_faces(const DetectorFile& file);

}  // namespace evener::task
