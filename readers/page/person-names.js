/**
 * Names to speak of people by. Readers mask user ids with a keyed hash, so the true names never come here: each masked id gets a
 * pseudonym, an adjective and an animal, always the same one. Two people may share one; the masked id is in the `title`.
 */
const ADJECTIVES = ('Agile Amber Ample Ancient Arctic Autumn Azure Balmy Bashful Bold Brave Breezy Bright Brisk Bronze Calm Candid ' +
  'Careful Cheerful Chief Clever Cloudy Coastal Cobalt Copper Coral Cosmic Cosy Crimson Crisp Curious Dapper Daring ' +
  'Dazzling Deft Dewy Eager Early Earnest Easy Emerald Fabled Fair Famous Fearless Fleet Floral Fluent Foggy Frank ' +
  'Free Fresh Friendly Frosty Gallant Gentle Gilded Glad Gleaming Glossy Golden Graceful Grand Handy Happy Hardy ' +
  'Hasty Hazel Hearty Honest Humble Indigo Ivory Jade Jaunty Jolly Jovial Keen Kind Lively Loyal Lucky Lunar Magic ' +
  'Marble Mellow Merry Mighty Misty Modest Mossy Neat Nimble Noble Olive Opal Orderly Patient Peaceful Perky Placid ' +
  'Plucky Polar Polite Prompt Proud Quick Quiet Rapid Ruby Rustic Sandy Scarlet Serene Silent Silver Snowy Solar ' +
  'Spry Steady Stellar Sunny Swift Tidy Tranquil Velvet Violet Vivid Witty Zesty').split(' ')
const ANIMALS = ('Alpaca Antelope Avocet Badger Barbet Bear Beaver Beetle Bison Bobcat Buffalo Bunting Camel Caribou Cheetah ' +
  'Chipmunk Cicada Civet Condor Cormorant Cougar Coyote Crab Crane Cricket Curlew Deer Dingo Dolphin Dormouse Dove ' +
  'Dragonfly Duck Eagle Egret Elk Ermine Falcon Ferret Finch Firefly Flamingo Fox Gannet Gazelle Gecko Gibbon ' +
  'Giraffe Goose Grebe Grouse Gull Hamster Hare Hawk Hedgehog Heron Hoopoe Hornbill Ibex Ibis Iguana Impala Jackal ' +
  'Jaguar Jay Kestrel Kingfisher Kite Kiwi Koala Kudu Lark Lemur Leopard Linnet Llama Lobster Lynx Macaw Magpie ' +
  'Manatee Marmot Marten Mole Moose Moth Narwhal Newt Ocelot Octopus Oriole Osprey Otter Owl Panda Panther Parrot ' +
  'Pelican Penguin Petrel Pheasant Plover Puffin Puma Quail Rabbit Raccoon Raven Robin Salmon Seal Sparrow Squirrel ' +
  'Starling Stork Swallow Swan Tapir Tern Thrush Tiger Toad Toucan Turtle Vole Walrus Weasel Wombat Wren').split(' ')
/** FNV-1a */
const [OFFSET, PRIME] = [0x811c9dc5, 0x01000193]

/** @param {string} masked id of a person @returns {string} such as `Amber Otter` */
export function personName (masked) {
  let hash = OFFSET
  for (let i = 0; i < masked.length; i++) hash = Math.imul(hash ^ masked.charCodeAt(i), PRIME) >>> 0
  return `${ADJECTIVES[hash % ADJECTIVES.length]} ${ANIMALS[Math.floor(hash / ADJECTIVES.length) % ANIMALS.length]}`
}
