// Files of other programs, read by OpenVINO: .onnx, .tflite, .xml with .bin.
#pragma once

#include <filesystem>
#include <memory>

#include "engine/model_file.h"

namespace evener::engine::openvino_engine {

/// See Engine::open_model_file.
std::unique_ptr<ModelFile> read_model_file(const std::filesystem::path& path);

}  // namespace evener::engine::openvino_engine
