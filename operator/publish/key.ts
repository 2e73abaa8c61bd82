// Whose files on the volume are meant.

/** Namespace and name of a SkillSource or SkillGateway. */
export interface Key {
  namespace: string;
  name: string;
}
