// Writes small graphs as OpenVINO's own files (.xml, .bin), node by node. Header only, so that the tests of every room
// can use it.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace evener::test {

class GraphFile {
 public:
  /// `type`: "u8", "f32". `shape`: "1,3,4,4". Each gives the new node's number.
  int input(const std::string& type, const std::string& shape) {
    return node("Parameter", "opset1", "element_type=\"" + type + "\" shape=\"" + shape + "\"", {});
  }
  /// `shape`: "" = one number.
  int constant(const std::vector<float>& values, const std::string& shape = "") {
    const std::string place = "offset=\"" + std::to_string(values_.size() * sizeof(float)) + "\" size=\"" +
                              std::to_string(values.size() * sizeof(float)) + "\"";
    values_.insert(values_.end(), values.begin(), values.end());
    return node("Const", "opset1", "element_type=\"f32\" shape=\"" + shape + "\" " + place, {});
  }
  /// `attributes`: as they stand in the file. `name`: absent = its kind and number.
  int node(const std::string& kind, const std::string& opset, const std::string& attributes,
           const std::vector<int>& inputs, const std::string& name = {}) {
    const int id = count_++;
    std::string ports;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      edges_ += "<edge from-layer=\"" + std::to_string(inputs[i]) + "\" from-port=\"99\" to-layer=\"" +
                std::to_string(id) + "\" to-port=\"" + std::to_string(i) + "\"/>\n";
      ports += "<port id=\"" + std::to_string(i) + "\" precision=\"FP32\"/>";
    }
    layers_ += "<layer id=\"" + std::to_string(id) + "\" name=\"" + (name.empty() ? kind + std::to_string(id) : name) +
               "\" type=\"" + kind + "\" version=\"" + opset + "\"><data " + attributes + "/><input>" + ports +
               "</input>";
    if (kind != "Result") layers_ += "<output><port id=\"99\" precision=\"FP32\" names=\"" + name + "\"/></output>";
    layers_ += "</layer>\n";
    return id;
  }
  int converted(const std::string& type, int from, const std::string& name = {}) {
    return node("Convert", "opset1", "destination_type=\"" + type + "\"", {from}, name);
  }
  /// Rounded to 256 levels, from one range to another.
  int rounded(int from, float least, float most, float to_least, float to_most) {
    return node("FakeQuantize", "opset1", "levels=\"256\" auto_broadcast=\"numpy\"",
                {from, constant({least}), constant({most}), constant({to_least}), constant({to_most})});
  }
  void output(int from) { node("Result", "opset1", "", {from}); }

  /// `xml`: the values go beside it.
  void write(const std::filesystem::path& xml) const {
    std::ofstream(xml) << "<?xml version=\"1.0\"?>\n<net name=\"net\" version=\"11\">\n<layers>\n"
                       << layers_ << "</layers>\n<edges>\n"
                       << edges_ << "</edges>\n</net>\n";
    std::filesystem::path bin = xml;
    std::ofstream(bin.replace_extension(".bin"), std::ios::binary)
        .write(reinterpret_cast<const char*>(values_.data()),
               static_cast<std::streamsize>(values_.size() * sizeof(float)));
  }

 private:
  int count_ = 0;
  std::string layers_, edges_;
  std::vector<float> values_;
};

}  // namespace evener::test
