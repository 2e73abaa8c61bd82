// Specs of SkillGateways, good and bad.
import { type Case, library, objectName, on, oneWord, words } from './case.ts';

const notBoth = /selector or names, not both/;
const values = /In and NotIn need at least one value; Exists and DoesNotExist take none/;
const labels = /as Kubernetes has/;

const select = (selector: unknown) => ({ sources: { selector } });
const requirement = (key: string, operator: string, list?: string[]) =>
  select({ matchExpressions: [{ key, operator, ...(list ? { values: list } : {}) }] });

const tokens = { secretRef: { name: 'agents-tokens' } };
const closed = (...scopes: unknown[]) => ({ auth: { tokens, scopes } });

const routeSpec = (parentRefs: object[], hostnames: string[] = []): object => ({
  auth: { tokens },
  httpRoute: { parentRefs, hostnames },
});

export const gatewayCases: Case[] = [
  { what: 'nothing: everything is served', spec: {} },
  { what: 'no spec', spec: undefined },
  {
    what: 'every field',
    spec: {
      sources: {
        selector: {
          matchLabels: { team: 'platform', 'example.com/stage': '', 'a.b/C_d.e-f': 'X-1_y.z' },
          matchExpressions: [
            { key: 'tier', operator: 'In', values: ['a', 'b'] },
            { key: 'example.com/tier', operator: 'NotIn', values: [''] },
            { key: 'x', operator: 'Exists' },
            { key: 'y', operator: 'DoesNotExist', values: [] },
          ],
        },
      },
      libraries: [
        { name: 'grafana', title: 'Grafana', description: 'Dashboards and queries.', tags: ['ops'] },
        { name: 'loki' },
      ],
      scope: { library: 'grafana', tags: ['ops'] },
      auth: {
        tokens: { secretRef: { name: 'agents-tokens' } },
        scopes: [
          { token: 'n8n', library: 'grafana', tags: ['ops'] },
          { token: 'Claude_Code.1', tags: ['ops'] },
        ],
      },
      allowedOrigins: [
        'https://claude.ai',
        'http://localhost:6274',
        'HTTPS://Example.com:8443',
        'http://[::1]:80',
        'chrome-extension://abcdef',
      ],
      reindex: 'Anyone',
      instructions: 'Read skill://grafana first.',
    },
  },
  {
    what: 'copies of the catalogue',
    spec: { sync: { enabled: true, sizeLimit: '512Mi', serviceAccounts: ['a', 'b.c'] } },
  },
  { what: 'copies for its own pods alone, behind tokens', spec: { auth: { tokens }, sync: { enabled: true } } },
  {
    what: 'copies of what tokens are known by',
    spec: { auth: { tokens }, sync: { serviceAccounts: ['agent'] } },
    refused: on('spec.sync.serviceAccounts', /remove one of the two/),
  },
  {
    what: 'a copy without a size',
    spec: { sync: { sizeLimit: 'much' } },
    refused: on('spec.sync.sizeLimit', /write bytes, or a quantity/),
  },
  {
    what: 'a ServiceAccount of another namespace',
    spec: { sync: { serviceAccounts: ['team-a/agent'] } },
    refused: on('spec.sync.serviceAccounts[0]', /the name of a ServiceAccount of this namespace/),
  },
  { what: 'sources by name', spec: { sources: { names: ['superpowers', 'acme.skills'] } } },
  { what: 'an empty selector', spec: select({}) },
  {
    what: 'selector and names',
    spec: { sources: { selector: {}, names: ['a'] } },
    refused: on('spec.sources', notBoth),
  },
  {
    what: 'a source in capitals',
    spec: { sources: { names: ['a', 'Bad'] } },
    refused: on('spec.sources.names[1]', objectName),
  },
  {
    what: 'an unknown operator',
    spec: requirement('a', 'Like', ['b']),
    refused: on('spec.sources.selector.matchExpressions[0].operator'),
  },
  {
    what: 'In without values',
    spec: requirement('a', 'In'),
    refused: on('spec.sources.selector.matchExpressions[0].values', values),
  },
  {
    what: 'NotIn with an empty list',
    spec: requirement('a', 'NotIn', []),
    refused: on('spec.sources.selector.matchExpressions[0].values', values),
  },
  {
    what: 'Exists with values',
    spec: requirement('a', 'Exists', ['b']),
    refused: on('spec.sources.selector.matchExpressions[0].values', values),
  },
  {
    what: 'a label key with a blank',
    spec: requirement('a b', 'Exists'),
    refused: on('spec.sources.selector.matchExpressions[0].key', labels),
  },
  {
    what: 'a label value with a blank',
    spec: requirement('a', 'In', ['b c']),
    refused: on('spec.sources.selector.matchExpressions[0].values[0]', labels),
  },
  {
    what: 'a label key with two slashes',
    spec: select({ matchLabels: { 'a/b/c': 'd' } }),
    refused: on('spec.sources.selector.matchLabels', labels),
  },
  {
    what: 'a label key of 64 characters',
    spec: select({ matchLabels: { [words(64)]: 'd' } }),
    refused: on('spec.sources.selector.matchLabels', labels),
  },
  {
    what: 'a label value that ends with a dot',
    spec: select({ matchLabels: { a: 'b.' } }),
    refused: on('spec.sources.selector.matchLabels', labels),
  },
  {
    what: 'a label value of 64 characters',
    spec: select({ matchLabels: { a: words(64) } }),
    refused: on('spec.sources.selector.matchLabels.a'),
  },
  {
    what: 'a label value that is a number',
    spec: select({ matchLabels: { a: 1 } }),
    refused: on('spec.sources.selector.matchLabels.a'),
  },
  {
    what: 'one library twice',
    spec: { libraries: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] },
    refused: on('spec.libraries', /stands here once/),
  },
  { what: 'a library without a name', spec: { libraries: [{ title: 'A' }] }, refused: on('spec.libraries[0].name') },
  {
    what: 'a library in capitals',
    spec: { libraries: [{ name: 'A' }] },
    refused: on('spec.libraries[0].name', library),
  },
  {
    what: 'two library tags in one',
    spec: { libraries: [{ name: 'a', tags: ['x', 'a,b'] }] },
    refused: on('spec.libraries[0].tags[1]', oneWord),
  },
  {
    what: 'a title that is too long',
    spec: { libraries: [{ name: 'a', title: words(129) }] },
    refused: on('spec.libraries[0].title'),
  },
  {
    what: 'too many libraries',
    spec: { libraries: Array.from({ length: 257 }, (_, n) => ({ name: `l${n}` })) },
    refused: on('spec.libraries'),
  },
  {
    what: 'as many libraries as there may be',
    spec: { libraries: Array.from({ length: 256 }, (_, n) => ({ name: `l${n}` })) },
  },
  {
    what: 'a scope that is no library',
    spec: { scope: { library: 'a b' } },
    refused: on('spec.scope.library', library),
  },
  { what: 'auth without tokens', spec: { auth: {} }, refused: on('spec.auth.tokens') },
  { what: 'tokens without a Secret', spec: { auth: { tokens: {} } }, refused: on('spec.auth.tokens.secretRef') },
  {
    what: 'a Secret in capitals',
    spec: { auth: { tokens: { secretRef: { name: 'Tokens' } } } },
    refused: on('spec.auth.tokens.secretRef.name', objectName),
  },
  { what: 'tokens alone', spec: { auth: { tokens } } },
  {
    what: 'one token in two scopes',
    spec: closed({ token: 'a', library: 'x' }, { token: 'b', library: 'x' }, { token: 'a', tags: ['x'] }),
    refused: on('spec.auth.scopes', /each token stands here once/),
  },
  {
    what: 'a scope of no token',
    spec: closed({ library: 'x' }),
    refused: on('spec.auth.scopes[0].token'),
  },
  {
    what: 'a scope of a token that is no key of a Secret',
    spec: closed({ token: 'a b', library: 'x' }),
    refused: on('spec.auth.scopes[0].token', /key in the Secret/),
  },
  {
    what: 'a scope that holds nothing back',
    spec: closed({ token: 'a' }),
    refused: on('spec.auth.scopes[0]', /library, tags or both/),
  },
  {
    what: 'a scope of no tags',
    spec: closed({ token: 'a', tags: [] }),
    refused: on('spec.auth.scopes[0]', /library, tags or both/),
  },
  {
    what: 'a scope of a token that is no library',
    spec: closed({ token: 'a', library: 'A' }),
    refused: on('spec.auth.scopes[0].library', library),
  },
  {
    what: 'a scope of a token with two tags in one',
    spec: closed({ token: 'a', tags: ['x,y'] }),
    refused: on('spec.auth.scopes[0].tags[0]', oneWord),
  },
  {
    what: 'as many scopes as there may be',
    spec: closed(...Array.from({ length: 128 }, (_, n) => ({ token: `${words(249)}${n}`, library: 'x' }))),
  },
  {
    what: 'too many scopes',
    spec: closed(...Array.from({ length: 129 }, (_, n) => ({ token: `a${n}`, library: 'x' }))),
    refused: on('spec.auth.scopes'),
  },
  ...[
    'https://claude.ai/',
    'https://claude.ai/chat',
    'https://*.example.com',
    '*',
    'null',
    'claude.ai',
    'https://claude.ai:port',
    'https://claude.ai?x',
    'https://',
    '',
  ].map((origin) => ({
    what: `an origin that is ${origin === '' ? 'empty' : origin}`,
    spec: { allowedOrigins: ['https://claude.ai', origin] },
    refused: on('spec.allowedOrigins', /scheme:\/\/host/),
  })),
  {
    what: 'too many origins',
    spec: { allowedOrigins: Array.from({ length: 65 }, (_, n) => `https://a${n}.example`) },
    refused: on('spec.allowedOrigins'),
  },
  {
    what: 'an Ingress behind tokens, with every field',
    spec: {
      auth: { tokens },
      ingress: {
        className: 'nginx',
        host: 'skills.example.com',
        path: '/mcp',
        tlsSecretName: 'skills-tls',
        annotations: { 'cert-manager.io/cluster-issuer': 'letsencrypt' },
      },
    },
  },
  {
    what: 'an Ingress on a gateway that is open',
    spec: { ingress: { host: 'skills.example.com' } },
    refused: on('spec.ingress', /set auth too, or remove ingress/),
  },
  { what: 'an Ingress for no name', spec: { auth: { tokens }, ingress: {} }, refused: on('spec.ingress.host') },
  ...[
    '*.example.com',
    'skills.example.com:443',
    '10.0.0.1',
    'https://skills.example.com',
    'Skills.example.com',
    '',
  ].map((host) => ({
    what: `an Ingress for the name '${host}'`,
    spec: { auth: { tokens }, ingress: { host } },
    refused: on('spec.ingress.host', /such as skills.example.com/),
  })),
  ...['mcp', '/a//b', '/a/../b', '/./a', '/a b', '/(.*)', '/a?b', ''].map((path) => ({
    what: `an Ingress with the path '${path}'`,
    spec: { auth: { tokens }, ingress: { host: 'a.example', path } },
    refused: on('spec.ingress.path', /begins with \//),
  })),
  {
    what: 'an Ingress with a snippet for its controller',
    spec: {
      auth: { tokens },
      ingress: { host: 'a.example', annotations: { 'nginx.ingress.kubernetes.io/server-snippet': 'x' } },
    },
    refused: on('spec.ingress.annotations', /snippets would configure/),
  },
  {
    what: 'an HTTPRoute behind tokens, with every field',
    spec: {
      auth: { tokens },
      httpRoute: {
        parentRefs: [{ name: 'public', namespace: 'infra', sectionName: 'https', port: 443 }, { name: 'inner' }],
        hostnames: ['skills.example.com', 'agents.example.com'],
      },
    },
  },
  {
    what: 'an HTTPRoute to two listeners of one Gateway, and to its namesake elsewhere',
    spec: routeSpec([
      { name: 'public', sectionName: 'http' },
      { name: 'public', sectionName: 'https' },
      { name: 'public', namespace: 'infra' },
    ]),
  },
  {
    what: 'an HTTPRoute on a gateway that is open',
    spec: { httpRoute: { parentRefs: [{ name: 'public' }] } },
    refused: on('spec.httpRoute', /set auth too, or remove httpRoute/),
  },
  {
    what: 'an HTTPRoute for no Gateway',
    spec: { auth: { tokens }, httpRoute: { hostnames: ['a.example'] } },
    refused: on('spec.httpRoute.parentRefs'),
  },
  { what: 'an HTTPRoute for an empty list', spec: routeSpec([]), refused: on('spec.httpRoute.parentRefs') },
  {
    what: 'an HTTPRoute for more Gateways than it may have',
    spec: routeSpec(Array.from({ length: 9 }, (_, at) => ({ name: `g${at}` }))),
    refused: on('spec.httpRoute.parentRefs'),
  },
  ...[
    [{ name: 'public' }, { name: 'public' }],
    [{ name: 'public' }, { name: 'public', sectionName: 'https' }],
    [
      { name: 'public', namespace: 'infra', sectionName: 'https' },
      { name: 'public', namespace: 'infra', sectionName: 'https', port: 443 },
    ],
  ].map((parentRefs, at) => ({
    what: `an HTTPRoute that names one Gateway twice, way ${at + 1}`,
    spec: routeSpec(parentRefs),
    refused: on('spec.httpRoute.parentRefs', /another sectionName/),
  })),
  {
    what: 'an HTTPRoute for a Gateway of no name',
    spec: routeSpec([{ name: 'Public' }]),
    refused: on('spec.httpRoute.parentRefs[0].name', /the name of a Gateway/),
  },
  {
    what: 'an HTTPRoute for a namespace of no name',
    spec: routeSpec([{ name: 'public', namespace: 'in.fra' }]),
    refused: on('spec.httpRoute.parentRefs[0].namespace', /namespace/),
  },
  {
    what: 'an HTTPRoute for a listener of no name',
    spec: routeSpec([{ name: 'public', sectionName: 'a b' }]),
    refused: on('spec.httpRoute.parentRefs[0].sectionName', /listener/),
  },
  {
    what: 'an HTTPRoute for port 0',
    spec: routeSpec([{ name: 'public', port: 0 }]),
    refused: on('spec.httpRoute.parentRefs[0].port'),
  },
  ...['*.example.com', 'a.example:443', '10.0.0.1', 'A.example', ''].map((hostname) => ({
    what: `an HTTPRoute for the name '${hostname}'`,
    spec: routeSpec([{ name: 'public' }], [hostname]),
    refused: on('spec.httpRoute.hostnames[0]', /such as skills.example.com/),
  })),
  {
    what: 'an HTTPRoute with one name twice',
    spec: routeSpec([{ name: 'public' }], ['a.example', 'a.example']),
    refused: on('spec.httpRoute.hostnames', /once/),
  },
  {
    what: 'an HTTPRoute with more names than it may have',
    spec: routeSpec(
      [{ name: 'public' }],
      Array.from({ length: 17 }, (_, at) => `a${at}.example`),
    ),
    refused: on('spec.httpRoute.hostnames'),
  },
  { what: 'reindex for nobody', spec: { reindex: 'Nobody' }, refused: on('spec.reindex') },
  { what: 'two scope tags in one', spec: { scope: { tags: ['a,b'] } }, refused: on('spec.scope.tags[0]', oneWord) },
  { what: 'instructions that are too long', spec: { instructions: words(4097) }, refused: on('spec.instructions') },
];

/** Whoever mistakes a field may write a credential into it. */
export const withTokens: Case[] = [
  { what: 'a token in the place of its client', spec: closed({ token: 'Bearer hunter2', library: 'x' }) },
  { what: 'a token that is longer than a key', spec: closed({ token: `hunter2${words(253)}`, library: 'x' }) },
  { what: 'one token twice', spec: closed({ token: 'hunter2', library: 'x' }, { token: 'hunter2', library: 'y' }) },
  { what: 'a user in an origin', spec: { allowedOrigins: ['https://ann:hunter2@example.com'] } },
  { what: 'an origin that is too long', spec: { allowedOrigins: [`https://hunter2.${words(300)}`] } },
];
