// Names of classes as Python prints them.
#include <gmock/gmock.h>

#include "task/inference/model_metadata.h"

namespace evener::task {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PythonNames, AreReadFromDictionariesAndLists) {
  EXPECT_THAT(names_in_python("{0: 'person', 1: \"driver's seat\", 2: 'it\\'s'}"),
              ElementsAre("person", "driver's seat", "it's"));
  EXPECT_THAT(names_in_python(R"({"0": "a", "1": "b"})"), ElementsAre("a", "b"));
  EXPECT_THAT(names_in_python(" ['a' , 'b', ]"), ElementsAre("a", "b"));
}

TEST(PythonNames, AreNoneOfAnythingElse) {
  for (const char* text : {"", "{", "{0", "{0:", "{0: 'a", "{0: 'a'", "{1: 'a'}", "{0: 'a' 1: 'b'}", "[1, 2]", "'a'",
                           "{0: 'a', 2: 'c'}", "[", "['a\\"}) {
    EXPECT_THAT(names_in_python(text), IsEmpty()) << text;
  }
}

TEST(PythonNames, AndSizesComeWithFilesOfUltralytics) {
  const ModelFacts facts =
      model_facts({{"names", "{0: 'cat', 1: 'dog'}"}, {"imgsz", "[480, 640]"}, {"task", "detect"}});
  EXPECT_THAT(facts.classes, ElementsAre("cat", "dog"));
  ASSERT_TRUE(facts.input);
  EXPECT_THAT(*facts.input, ElementsAre(3, 480, 640));
  ModelFacts reversed{"m", {}, {}, {}};
  reversed.reverses_channels = true;
  EXPECT_TRUE(model_facts(model_metadata(reversed)).reverses_channels);
}

}  // namespace
}  // namespace evener::task
